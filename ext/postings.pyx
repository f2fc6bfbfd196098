"""Postings in CSR arrays: built from packed documents, merged segment to segment, counted over live rows.

    segment = build([b"run bun test:2\\n", b"bun\\nthe"], first_row=0)
    both = merge(segment, build([b"test\\n"], first_row=2))

A segment is a dictionary of arrays (FIELDS). A posting is a row and a code; a code stands for one pair of
(term frequency, document length), so that BM25's quotient is looked up and a changed average length only
touches the table of pairs.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport Array, NewArray, array_of, import_numpy

import_numpy()

# name: (dtype, what each entry is)
FIELDS = {
    "first_row": (np.int64, "one entry: the row of the segment's first document"),
    "blob": (np.uint8, "UTF-8 of all terms, one after another"),
    "ends": (np.int64, "terms + 1: where each term begins in blob"),
    "slots": (np.int32, "hash table of term ids; -1 is empty"),
    "function": (np.uint8, "per term: 1 for the stem of a function word"),
    "offsets": (np.int64, "terms + 1: where each term's postings begin"),
    "rows": (np.int32, "per posting, ascending within a term: the row"),
    "codes": (np.int32, "per posting: the code of its pair"),
    "pair_frequency": (np.int32, "per code: the term frequency"),
    "pair_length": (np.int32, "per code: the document's length in tokens"),
    "document_offsets": (np.int64, "documents + 1: where each document's terms begin"),
    "document_terms": (np.int32, "per posting, document by document: the term"),
    "document_codes": (np.int32, "per posting, document by document: the code of its pair"),
    "lengths": (np.int32, "per document: its length in tokens"),
    "content": (np.int32, "per document: distinct stems, those of function words left out"),
}

cdef extern from "<utility>" namespace "std" nogil:
    cdef cppclass PackedText "std::pair<const uint8_t*, int64_t>":
        PackedText(const uint8_t*, int64_t)


cdef extern from "kernels/postings.hpp" namespace "pi_rank" nogil:
    cdef cppclass Dictionary:
        vector[uint8_t] blob
        vector[int64_t] ends
        vector[int32_t] slots
        vector[uint8_t] function
        int32_t intern(const uint8_t* text, int64_t length, bint is_function) except +

    cdef cppclass Pairs:
        vector[int32_t] frequency
        vector[int32_t] length
        int32_t code(int32_t frequency, int32_t length) except +

    cdef cppclass ParsedDocuments:
        Dictionary dictionary
        vector[int32_t] terms
        vector[int64_t] ends
        vector[int32_t] lengths
        vector[int32_t] content
        void take(const uint8_t* stem, int64_t size, int32_t frequency, bint function) except +
        void end_document(int32_t length, int32_t content_terms) except +

    cdef cppclass Postings:
        const int64_t* offsets
        int64_t n_terms
        const int32_t* rows
        const int32_t* codes

    int64_t parse(ParsedDocuments&, const vector[PackedText]&) except +
    void invert(
        const ParsedDocuments&, int32_t first_row, Pairs&, int64_t* offsets, int32_t* rows, int32_t* codes,
        int32_t* document_codes
    ) except +
    void interleave(
        const Postings& first, const Postings& second, const int32_t* new_term, const int32_t* new_code,
        int64_t n_terms, int64_t* offsets, int32_t* rows, int32_t* codes
    ) except +


cdef enum:
    MAX_INT32 = 2147483647


def build(packed, first_row=0):
    cdef tuple documents = tuple(packed)  # holds the bytes while the GIL is released
    cdef ParsedDocuments parsed
    cdef vector[PackedText] texts
    cdef int64_t bad
    if first_row < 0 or first_row + len(documents) > MAX_INT32:
        raise ValueError(f"rows {first_row} to {first_row + len(documents)} do not fit in 0 to 2**31 - 1")
    for document in documents:
        if type(document) is not bytes:
            raise TypeError(f"a packed document is bytes, not {type(document).__name__}; see pack_terms")
        texts.push_back(PackedText(<const uint8_t*>PyBytes_AS_STRING(document), PyBytes_GET_SIZE(document)))
    with nogil:
        bad = parse(parsed, texts)
    if bad >= 0:
        raise ValueError(f"packed document {bad} is not what pack_terms writes: {documents[bad][:80]!r}")
    return _segment(parsed, first_row)


cdef dict _segment(const ParsedDocuments& parsed, int32_t first_row):
    cdef Pairs pairs
    offsets = NewArray[int64_t](parsed.dictionary.function.size() + 1)
    offsets.fill(0)
    rows = NewArray[int32_t](parsed.terms.size())
    codes = NewArray[int32_t](parsed.terms.size())
    document_codes = NewArray[int32_t](parsed.terms.size())
    with nogil:
        invert(parsed, first_row, pairs, offsets.data(), rows.data(), codes.data(), document_codes.data())
    return {
        "first_row": np.array([first_row], np.int64),
        **_terms_of(parsed.dictionary),
        "offsets": offsets.object(),
        "rows": rows.object(),
        "codes": codes.object(),
        "pair_frequency": array_of(pairs.frequency),
        "pair_length": array_of(pairs.length),
        "document_offsets": array_of(parsed.ends),
        "document_terms": array_of(parsed.terms),
        "document_codes": document_codes.object(),
        "lengths": array_of(parsed.lengths),
        "content": array_of(parsed.content),
    }


cdef dict _terms_of(const Dictionary& dictionary):
    return {
        "blob": array_of(dictionary.blob),
        "ends": array_of(dictionary.ends),
        "slots": array_of(dictionary.slots),
        "function": array_of(dictionary.function),
    }


def merge(dict first, dict second):
    if first["first_row"][0] + first["lengths"].size != second["first_row"][0]:
        raise ValueError(
            f"segments do not meet: the first ends at row {first['first_row'][0] + first['lengths'].size}, "
            f"the second begins at row {second['first_row'][0]}"
        )
    cdef Dictionary dictionary
    dictionary.blob = Array[uint8_t](first["blob"], "blob").copy()
    dictionary.ends = Array[int64_t](first["ends"], "ends").copy()
    dictionary.slots = Array[int32_t](first["slots"], "slots").copy()
    dictionary.function = Array[uint8_t](first["function"], "function").copy()
    term_map = _mapped_terms(dictionary, second)
    cdef Pairs pairs
    _mapped_codes(pairs, first)
    code_map = _mapped_codes(pairs, second)
    offsets, rows, codes = _interleaved(first, second, term_map, code_map, dictionary.function.size())
    return {
        "first_row": first["first_row"],
        **_terms_of(dictionary),
        "offsets": offsets,
        "rows": rows,
        "codes": codes,
        "pair_frequency": array_of(pairs.frequency),
        "pair_length": array_of(pairs.length),
        "document_offsets": np.concatenate(
            (first["document_offsets"], first["document_terms"].size + second["document_offsets"][1:])
        ),
        "document_terms": np.concatenate((first["document_terms"], term_map[second["document_terms"]])),
        "document_codes": np.concatenate((first["document_codes"], code_map[second["document_codes"]])),
        "lengths": np.concatenate((first["lengths"], second["lengths"])),
        "content": np.concatenate((first["content"], second["content"])),
    }


cdef _mapped_terms(Dictionary& dictionary, dict segment):
    """The number of each term of the segment in the dictionary, which gets those that it lacks."""
    blob = Array[uint8_t](segment["blob"], "blob")
    ends = Array[int64_t](segment["ends"], "ends")
    function = Array[uint8_t](segment["function"], "function")
    ids = NewArray[int32_t](function.size())
    cdef Py_ssize_t i
    with nogil:
        for i in range(function.size()):
            ids[i] = dictionary.intern(blob.data() + ends[i], ends[i + 1] - ends[i], function[i])
    return ids.object()


cdef _mapped_codes(Pairs& pairs, dict segment):
    """The code of each of the segment's pairs among `pairs`, which get those that they lack."""
    frequency = Array[int32_t](segment["pair_frequency"], "pair_frequency")
    length = Array[int32_t](segment["pair_length"], "pair_length")
    codes = NewArray[int32_t](frequency.size())
    cdef Py_ssize_t i
    for i in range(frequency.size()):
        codes[i] = pairs.code(frequency[i], length[i])
    return codes.object()


cdef tuple _interleaved(dict first, dict second, term_map, code_map, int64_t n_terms):
    first_offsets = Array[int64_t](first["offsets"], "offsets")
    first_rows = Array[int32_t](first["rows"], "rows")
    first_codes = Array[int32_t](first["codes"], "codes")
    second_offsets = Array[int64_t](second["offsets"], "offsets")
    second_rows = Array[int32_t](second["rows"], "rows")
    second_codes = Array[int32_t](second["codes"], "codes")
    new_term = Array[int32_t](term_map, "term_map")
    new_code = Array[int32_t](code_map, "code_map")
    cdef Postings one, other
    one.offsets, one.n_terms = first_offsets.data(), first_offsets.size() - 1
    one.rows, one.codes = first_rows.data(), first_codes.data()
    other.offsets, other.n_terms = second_offsets.data(), second_offsets.size() - 1
    other.rows, other.codes = second_rows.data(), second_codes.data()
    offsets = NewArray[int64_t](n_terms + 1)
    rows = NewArray[int32_t](first_rows.size() + second_rows.size())
    codes = NewArray[int32_t](first_rows.size() + second_rows.size())
    with nogil:
        interleave(
            one, other, new_term.data(), new_code.data(), n_terms, offsets.data(), rows.data(), codes.data()
        )
    return offsets.object(), rows.object(), codes.object()


def selected(dict segment, chosen_rows, int32_t new_first_row=0):
    chosen = Array[int32_t](chosen_rows, "chosen_rows")
    cdef int64_t first_row = segment["first_row"][0], n_rows = segment["lengths"].size
    blob = Array[uint8_t](segment["blob"], "blob")
    function = Array[uint8_t](segment["function"], "function")
    ends = Array[int64_t](segment["ends"], "ends")
    offsets = Array[int64_t](segment["document_offsets"], "document_offsets")
    terms = Array[int32_t](segment["document_terms"], "document_terms")
    codes = Array[int32_t](segment["document_codes"], "document_codes")
    frequency = Array[int32_t](segment["pair_frequency"], "pair_frequency")
    lengths = Array[int32_t](segment["lengths"], "lengths")
    content = Array[int32_t](segment["content"], "content")
    cdef ParsedDocuments documents
    cdef Py_ssize_t i, at
    cdef int64_t row
    cdef int32_t term
    for i in range(chosen.size()):
        if not first_row <= chosen[i] < first_row + n_rows or (i and chosen[i] <= chosen[i - 1]):
            raise ValueError(f"chosen rows must ascend, from {first_row} to at most {first_row + n_rows - 1}")
    with nogil:
        for i in range(chosen.size()):
            row = chosen[i] - first_row
            for at in range(offsets[row], offsets[row + 1]):
                term = terms[at]
                documents.take(blob.data() + ends[term], ends[term + 1] - ends[term], frequency[codes[at]], function[term])
            documents.end_document(lengths[row], content[row])
    return _segment(documents, new_first_row)


def live_frequencies(dict segment, live):
    offsets = Array[int64_t](segment["offsets"], "offsets")
    rows = Array[int32_t](segment["rows"], "rows")
    flags = Array[uint8_t](live, "live")
    if flags.size() < segment["first_row"][0] + segment["lengths"].size:
        raise ValueError(f"live has {flags.size()} entries, fewer than the segment has rows")
    counts = NewArray[int32_t](offsets.size() - 1)
    cdef Py_ssize_t term
    cdef int64_t i
    cdef int32_t count
    with nogil:
        for term in range(offsets.size() - 1):
            count = 0
            for i in range(offsets[term], offsets[term + 1]):
                count += flags[rows[i]]
            counts[term] = count
    return counts.object()
