"""Postings in CSR arrays: built from packed documents, merged segment to segment, counted over live rows.

    segment = build([b"run bun test:2\\n", b"bun\\nthe"], first_row=0)
    both = merge(segment, build([b"test\\n"], first_row=2))

A segment is a dictionary of arrays (FIELDS). A posting is a row and a code; a code stands for one pair of
(term frequency, document length), so that BM25's quotient is looked up and a changed average length only
touches the table of pairs.
"""

import numpy as np

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from terms cimport find_term

cnp.import_array()

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

cdef enum:
    MAX_INT32 = 2147483647


cdef class _Dictionary:
    """Terms while a segment is made; the layout that terms.pxd searches."""

    cdef vector[uint8_t] blob
    cdef vector[int64_t] ends
    cdef vector[int32_t] slots
    cdef vector[uint8_t] function

    def __cinit__(self):
        self.ends.push_back(0)
        self.slots.assign(16, -1)

    cdef int32_t intern(self, const uint8_t* text, Py_ssize_t length, bint function) noexcept nogil:
        cdef int64_t slot
        cdef int32_t term = find_term(
            text, length, self.slots.data(), self.slots.size(), self.ends.data(), self.blob.data(), &slot
        )
        if term >= 0:
            return term
        term = <int32_t>self.function.size()
        self.slots[slot] = term
        self.blob.insert(self.blob.end(), text, text + length)
        self.ends.push_back(self.blob.size())
        self.function.push_back(function)
        if self.function.size() * 2 > self.slots.size():
            self.grow()
        return term

    cdef void grow(self) noexcept nogil:
        cdef size_t size = self.slots.size() * 2
        cdef size_t term
        cdef int64_t slot
        self.slots.assign(size, -1)
        for term in range(self.function.size()):
            find_term(
                self.blob.data() + self.ends[term], self.ends[term + 1] - self.ends[term],
                self.slots.data(), size, self.ends.data(), self.blob.data(), &slot,
            )
            self.slots[slot] = <int32_t>term

    cdef void load(self, dict segment):
        cdef const uint8_t[::1] blob = segment["blob"]
        cdef const int64_t[::1] ends = segment["ends"]
        cdef const int32_t[::1] slots = segment["slots"]
        cdef const uint8_t[::1] function = segment["function"]
        self.blob.assign(&blob[0], &blob[0] + blob.shape[0])
        self.ends.assign(&ends[0], &ends[0] + ends.shape[0])
        self.slots.assign(&slots[0], &slots[0] + slots.shape[0])
        self.function.assign(&function[0], &function[0] + function.shape[0])

    cdef dict arrays(self):
        return {
            "blob": _copied(self.blob.data(), self.blob.size(), "blob"),
            "ends": _copied(self.ends.data(), self.ends.size(), "ends"),
            "slots": _copied(self.slots.data(), self.slots.size(), "slots"),
            "function": _copied(self.function.data(), self.function.size(), "function"),
        }


cdef class _Pairs:
    """The distinct (term frequency, document length) pairs, numbered in order of first use."""

    cdef unordered_map[uint64_t, int32_t] codes
    cdef vector[int32_t] frequency
    cdef vector[int32_t] length

    cdef int32_t code(self, int32_t frequency, int32_t length) noexcept nogil:
        cdef uint64_t key = (<uint64_t>frequency << 32) | <uint64_t>length
        cdef unordered_map[uint64_t, int32_t].iterator found = self.codes.find(key)
        if found != self.codes.end():
            return dereference(found).second
        cdef int32_t code = <int32_t>self.frequency.size()
        self.codes[key] = code
        self.frequency.push_back(frequency)
        self.length.push_back(length)
        return code

    cdef dict arrays(self):
        return {
            "pair_frequency": _copied(self.frequency.data(), self.frequency.size(), "pair_frequency"),
            "pair_length": _copied(self.length.data(), self.length.size(), "pair_length"),
        }


cdef class _Documents:
    """Packed documents parsed into (term, frequency) lists, in document order."""

    cdef _Dictionary dictionary
    cdef vector[int32_t] terms
    cdef vector[int32_t] frequencies
    cdef vector[int64_t] ends
    cdef vector[int32_t] lengths
    cdef vector[int32_t] content
    cdef vector[int32_t] last_row

    def __cinit__(self):
        self.dictionary = _Dictionary()
        self.ends.push_back(0)

    cdef bint add(self, const uint8_t* text, Py_ssize_t size) noexcept nogil:
        """Parse one packed document; False where it is not one (see analysis.pack_terms)."""
        cdef Py_ssize_t at = 0, start, stop
        cdef int64_t frequency, length = 0
        cdef int32_t content = 0
        cdef bint function = False
        while True:
            start = at
            while at < size and text[at] != c" " and text[at] != c":" and text[at] != c"\n":
                at += 1
            stop = at
            if stop > start:
                frequency = self.frequency(text, size, &at)
                length += frequency
                if frequency <= 0 or length > MAX_INT32:
                    return False
                if not self.post(text + start, stop - start, <int32_t>frequency, function):
                    return False
                content += not function
            if at >= size:
                break
            if text[at] == c"\n":
                if function:
                    return False
                function = True
            elif text[at] != c" " or at == start:
                return False
            at += 1
        if not function:
            return False
        self.lengths.push_back(<int32_t>length)
        self.content.push_back(content)
        self.ends.push_back(self.terms.size())
        return True

    cdef int64_t frequency(self, const uint8_t* text, Py_ssize_t size, Py_ssize_t* at) noexcept nogil:
        """The count after a colon, 1 without one, -1 where it is no count; `at` moves past it."""
        cdef int64_t count = 0
        if at[0] >= size or text[at[0]] != c":":
            return 1
        at[0] += 1
        while at[0] < size and c"0" <= text[at[0]] <= c"9":
            count = count * 10 + (text[at[0]] - c"0")
            if count > MAX_INT32:
                return -1
            at[0] += 1
        return count

    cdef bint post(
        self, const uint8_t* stem, Py_ssize_t size, int32_t frequency, bint function
    ) noexcept nogil:
        cdef int32_t row = <int32_t>self.lengths.size()
        cdef int32_t term = self.dictionary.intern(stem, size, function)
        if <size_t>term == self.last_row.size():
            self.last_row.push_back(-1)
        if self.last_row[term] == row or self.dictionary.function[term] != function:
            return False
        self.last_row[term] = row
        self.terms.push_back(term)
        self.frequencies.push_back(frequency)
        return True


cdef _copied(const void* data, size_t count, str field):
    array = np.empty(count, FIELDS[field][0])
    if count:
        memcpy(cnp.PyArray_DATA(array), data, cnp.PyArray_NBYTES(array))
    return array


def build(packed, first_row=0):
    cdef tuple documents = tuple(packed)  # holds the bytes while the GIL is released
    cdef _Documents parsed = _Documents()
    cdef vector[const uint8_t*] texts
    cdef vector[Py_ssize_t] sizes
    cdef Py_ssize_t i, bad = -1
    if first_row < 0 or first_row + len(documents) > MAX_INT32:
        raise ValueError(f"rows {first_row} to {first_row + len(documents)} do not fit in 0 to 2**31 - 1")
    for document in documents:
        if type(document) is not bytes:
            raise TypeError(f"a packed document is bytes, not {type(document).__name__}; see pack_terms")
        texts.push_back(<const uint8_t*>PyBytes_AS_STRING(document))
        sizes.push_back(PyBytes_GET_SIZE(document))
    with nogil:
        for i in range(<Py_ssize_t>texts.size()):
            if not parsed.add(texts[i], sizes[i]):
                bad = i
                break
    if bad >= 0:
        raise ValueError(f"packed document {bad} is not what pack_terms writes: {documents[bad][:80]!r}")
    return _segment(parsed, first_row)


cdef dict _segment(_Documents parsed, int32_t first_row):
    """Turn documents-to-terms into terms-to-documents by counting sort."""
    cdef size_t n_terms = parsed.dictionary.function.size(), n_rows = parsed.lengths.size()
    offsets_array = np.zeros(n_terms + 1, np.int64)
    rows_array = np.empty(parsed.terms.size(), np.int32)
    codes_array = np.empty(parsed.terms.size(), np.int32)
    cdef int64_t* offsets = <int64_t*>cnp.PyArray_DATA(offsets_array)
    cdef int32_t* rows = <int32_t*>cnp.PyArray_DATA(rows_array)
    cdef int32_t* codes = <int32_t*>cnp.PyArray_DATA(codes_array)
    document_codes_array = np.empty(parsed.terms.size(), np.int32)
    cdef int32_t* document_codes = <int32_t*>cnp.PyArray_DATA(document_codes_array)
    cdef _Pairs pairs = _Pairs()
    cdef vector[int64_t] next_free
    cdef size_t row
    cdef int64_t i, at
    with nogil:
        for i in range(<int64_t>parsed.terms.size()):
            offsets[parsed.terms[i] + 1] += 1
        for i in range(<int64_t>n_terms):
            offsets[i + 1] += offsets[i]
        next_free.assign(offsets, offsets + n_terms)
        for row in range(n_rows):
            for i in range(parsed.ends[row], parsed.ends[row + 1]):
                at = next_free[parsed.terms[i]]
                next_free[parsed.terms[i]] = at + 1
                rows[at] = first_row + <int32_t>row
                codes[at] = document_codes[i] = pairs.code(parsed.frequencies[i], parsed.lengths[row])
    return {
        "first_row": np.array([first_row], np.int64),
        **parsed.dictionary.arrays(),
        "offsets": offsets_array,
        "rows": rows_array,
        "codes": codes_array,
        **pairs.arrays(),
        "document_offsets": _copied(parsed.ends.data(), parsed.ends.size(), "document_offsets"),
        "document_terms": _copied(parsed.terms.data(), parsed.terms.size(), "document_terms"),
        "document_codes": document_codes_array,
        "lengths": _copied(parsed.lengths.data(), n_rows, "lengths"),
        "content": _copied(parsed.content.data(), n_rows, "content"),
    }


def merge(dict first, dict second):
    if first["first_row"][0] + first["lengths"].size != second["first_row"][0]:
        raise ValueError(
            f"segments do not meet: the first ends at row {first['first_row'][0] + first['lengths'].size}, "
            f"the second begins at row {second['first_row'][0]}"
        )
    cdef _Dictionary dictionary = _Dictionary()
    dictionary.load(first)
    term_map = _mapped_terms(dictionary, second)
    cdef _Pairs pairs = _Pairs()
    _mapped_codes(pairs, first)
    code_map = _mapped_codes(pairs, second)
    offsets, rows, codes = _interleaved(first, second, term_map, code_map, dictionary.function.size())
    return {
        "first_row": first["first_row"],
        **dictionary.arrays(),
        "offsets": offsets,
        "rows": rows,
        "codes": codes,
        **pairs.arrays(),
        "document_offsets": np.concatenate(
            (first["document_offsets"], first["document_terms"].size + second["document_offsets"][1:])
        ),
        "document_terms": np.concatenate((first["document_terms"], term_map[second["document_terms"]])),
        "document_codes": np.concatenate((first["document_codes"], code_map[second["document_codes"]])),
        "lengths": np.concatenate((first["lengths"], second["lengths"])),
        "content": np.concatenate((first["content"], second["content"])),
    }


cdef _mapped_terms(_Dictionary dictionary, dict segment):
    cdef const uint8_t[::1] blob = segment["blob"]
    cdef const int64_t[::1] ends = segment["ends"]
    cdef const uint8_t[::1] function = segment["function"]
    mapped = np.empty(function.shape[0], np.int32)
    cdef int32_t[::1] ids = mapped
    cdef Py_ssize_t i
    with nogil:
        for i in range(function.shape[0]):
            ids[i] = dictionary.intern(&blob[ends[i]], ends[i + 1] - ends[i], function[i])
    return mapped


cdef _mapped_codes(_Pairs pairs, dict segment):
    cdef const int32_t[::1] frequency = segment["pair_frequency"]
    cdef const int32_t[::1] length = segment["pair_length"]
    mapped = np.empty(frequency.shape[0], np.int32)
    cdef int32_t[::1] codes = mapped
    cdef Py_ssize_t i
    for i in range(frequency.shape[0]):
        codes[i] = pairs.code(frequency[i], length[i])
    return mapped


cdef tuple _interleaved(dict first, dict second, term_map, code_map, size_t n_terms):
    """Per term the postings of the first segment, then those of the second with their codes renumbered."""
    cdef const int64_t[::1] first_offsets = first["offsets"], second_offsets = second["offsets"]
    cdef const int32_t[::1] first_rows = first["rows"], second_rows = second["rows"]
    cdef const int32_t[::1] first_codes = first["codes"], second_codes = second["codes"]
    cdef const int32_t[::1] new_term = term_map, new_code = code_map
    cdef int64_t first_terms = first_offsets.shape[0] - 1, second_terms = second_offsets.shape[0] - 1
    offsets_array = np.zeros(n_terms + 1, np.int64)
    rows_array = np.empty(first_rows.shape[0] + second_rows.shape[0], np.int32)
    codes_array = np.empty(rows_array.size, np.int32)
    cdef int64_t[::1] offsets = offsets_array
    cdef int32_t[::1] rows = rows_array, codes = codes_array
    cdef vector[int32_t] from_second
    cdef int64_t term, at = 0, i, begin, count
    with nogil:
        from_second.assign(n_terms, -1)
        for term in range(second_terms):
            from_second[new_term[term]] = <int32_t>term
        for term in range(<int64_t>n_terms):
            if term < first_terms:
                begin = first_offsets[term]
                count = first_offsets[term + 1] - begin
                memcpy(&rows[at], &first_rows[begin], count * sizeof(int32_t))
                memcpy(&codes[at], &first_codes[begin], count * sizeof(int32_t))
                at += count
            if from_second[term] >= 0:
                begin = second_offsets[from_second[term]]
                count = second_offsets[from_second[term] + 1] - begin
                memcpy(&rows[at], &second_rows[begin], count * sizeof(int32_t))
                for i in range(count):
                    codes[at + i] = new_code[second_codes[begin + i]]
                at += count
            offsets[term + 1] = at
    return offsets_array, rows_array, codes_array


def selected(dict segment, const int32_t[::1] chosen, int32_t new_first_row=0):
    cdef int64_t first_row = segment["first_row"][0], n_rows = segment["lengths"].size
    cdef const uint8_t[::1] blob = segment["blob"], function = segment["function"]
    cdef const int64_t[::1] ends = segment["ends"], offsets = segment["document_offsets"]
    cdef const int32_t[::1] terms = segment["document_terms"], codes = segment["document_codes"]
    cdef const int32_t[::1] frequency = segment["pair_frequency"]
    cdef const int32_t[::1] lengths = segment["lengths"], content = segment["content"]
    cdef _Documents documents = _Documents()
    cdef Py_ssize_t i, at
    cdef int32_t term
    for i in range(chosen.shape[0]):
        if not first_row <= chosen[i] < first_row + n_rows or (i and chosen[i] <= chosen[i - 1]):
            raise ValueError(f"chosen rows must ascend, from {first_row} to at most {first_row + n_rows - 1}")
    with nogil:
        for i in range(chosen.shape[0]):
            for at in range(offsets[chosen[i] - first_row], offsets[chosen[i] - first_row + 1]):
                term = terms[at]
                documents.terms.push_back(
                    documents.dictionary.intern(&blob[ends[term]], ends[term + 1] - ends[term], function[term])
                )
                documents.frequencies.push_back(frequency[codes[at]])
            documents.ends.push_back(documents.terms.size())
            documents.lengths.push_back(lengths[chosen[i] - first_row])
            documents.content.push_back(content[chosen[i] - first_row])
    return _segment(documents, new_first_row)


def live_frequencies(dict segment, const uint8_t[::1] live):
    cdef const int64_t[::1] offsets = segment["offsets"]
    cdef const int32_t[::1] rows = segment["rows"]
    if live.shape[0] < segment["first_row"][0] + segment["lengths"].size:
        raise ValueError(f"live has {live.shape[0]} entries, fewer than the segment has rows")
    counts_array = np.empty(offsets.shape[0] - 1, np.int32)
    cdef int32_t[::1] counts = counts_array
    cdef Py_ssize_t term
    cdef int64_t i
    cdef int32_t count
    with nogil:
        for term in range(counts.shape[0]):
            count = 0
            for i in range(offsets[term], offsets[term + 1]):
                count += live[rows[i]]
            counts[term] = count
    return counts_array
