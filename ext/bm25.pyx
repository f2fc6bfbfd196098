"""BM25 as FTS5 computes it, over postings in memory: block-wise accumulation and partial selection.

    segment = Segment(postings.build(packed), frequencies, impacts)
    (rows, scores), = search((segment,), [("bun", "test")], live_rows, 10, [eligible], tie_rank)

kernels/block_scores.hpp scores all rows, kernels/query_terms.hpp some.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport Array, NewArray, import_numpy
from terms cimport Terms
from topk cimport KeptHits, hit_arrays

import_numpy()

cdef double MIN_IDF = 1e-6  # FTS5's floor for a term that half of the rows have


cdef extern from "kernels/query_terms.hpp" namespace "pi_rank" nogil:
    cdef cppclass QueryTerm:
        int32_t term
        double idf

    cdef cppclass Documents:
        int64_t first_row
        int64_t n_rows
        const int64_t* offsets
        const int32_t* terms
        const int32_t* codes
        const double* impacts

    void score_documents(
        const vector[QueryTerm]&, const Documents&, const int32_t* rows, size_t n_rows, double* scores, double* idf
    ) except +


cdef extern from "kernels/block_scores.hpp" namespace "pi_rank" nogil:
    cdef cppclass Cursor:
        const int32_t* rows
        const int32_t* codes
        const double* impacts
        double idf
        int64_t at
        int64_t end

    cdef cppclass Search:
        size_t query
        const uint8_t* eligible
        int64_t first_row
        int64_t n_rows
        vector[Cursor] cursors

    void score_blocks(vector[Search]&, const int32_t* tie_rank, vector[KeptHits]&) except +


cdef class Segment:
    """One segment's arrays as the kernels read them, with the statistics of one version of the index."""

    cdef Array[uint8_t] blob
    cdef Array[int64_t] ends
    cdef Array[int32_t] slots
    cdef Array[int64_t] offsets
    cdef Array[int32_t] rows
    cdef Array[int32_t] codes
    cdef Array[int64_t] document_offsets
    cdef Array[int32_t] document_terms
    cdef Array[int32_t] document_codes
    cdef Array[int32_t] frequencies
    cdef Array[double] impacts
    cdef Terms terms
    cdef Documents documents

    def __init__(self, dict arrays, frequencies, impacts):
        self.blob = Array[uint8_t](arrays["blob"], "blob")
        self.ends = Array[int64_t](arrays["ends"], "ends")
        self.slots = Array[int32_t](arrays["slots"], "slots")
        self.offsets = Array[int64_t](arrays["offsets"], "offsets")
        self.rows = Array[int32_t](arrays["rows"], "rows")
        self.codes = Array[int32_t](arrays["codes"], "codes")
        self.document_offsets = Array[int64_t](arrays["document_offsets"], "document_offsets")
        self.document_terms = Array[int32_t](arrays["document_terms"], "document_terms")
        self.document_codes = Array[int32_t](arrays["document_codes"], "document_codes")
        self.frequencies = Array[int32_t](frequencies, "frequencies")
        self.impacts = Array[double](impacts, "impacts")
        if self.frequencies.size() != self.ends.size() - 1 or self.impacts.size() != arrays["pair_length"].size:
            raise ValueError("the statistics are not this segment's")
        self.terms.slots, self.terms.n_slots = self.slots.data(), self.slots.size()
        self.terms.ends, self.terms.blob = self.ends.data(), self.blob.data()
        self.documents.first_row, self.documents.n_rows = arrays["first_row"][0], arrays["lengths"].size
        self.documents.offsets = self.document_offsets.data()
        self.documents.terms = self.document_terms.data()
        self.documents.codes = self.document_codes.data()
        self.documents.impacts = self.impacts.data()

    cdef int64_t end(self) noexcept:
        return self.documents.first_row + self.documents.n_rows

    cdef Search search(self, const vector[QueryTerm]& terms, size_t query, const uint8_t* eligible) except *:
        cdef Search search
        cdef Cursor cursor
        cdef size_t i
        search.query, search.eligible = query, eligible
        search.first_row, search.n_rows = self.documents.first_row, self.documents.n_rows
        cursor.rows, cursor.codes, cursor.impacts = self.rows.data(), self.codes.data(), self.impacts.data()
        for i in range(terms.size()):
            cursor.idf = terms[i].idf
            cursor.at = self.offsets[terms[i].term]
            cursor.end = self.offsets[terms[i].term + 1]
            search.cursors.push_back(cursor)
        return search


def search(tuple segments, list queries, int64_t live_rows, Py_ssize_t k, list eligible, tie_rank):
    ties = Array[int32_t](tie_rank, "tie_rank")
    cdef vector[vector[QueryTerm]] asked
    cdef vector[Search] searches
    cdef vector[KeptHits] kept
    cdef Array[uint8_t] flags
    cdef Segment segment
    cdef Py_ssize_t n_rows
    cdef size_t s, i
    for terms, each in zip(queries, eligible, strict=True):
        flags = Array[uint8_t](each, "eligible")  # held by the caller's list
        n_rows = min(flags.size(), ties.size())
        kept.push_back(KeptHits(max(0, min(k, n_rows)), n_rows))
        asked.clear()
        _ask(segments, terms, live_rows, asked)
        for s in range(asked.size()):
            segment = segments[s]
            if segment.end() > n_rows:
                raise ValueError("eligible and tie_rank must have an entry for every row of the segments")
            if kept.back().k:
                searches.push_back(segment.search(asked[s], kept.size() - 1, flags.data()))
    with nogil:
        score_blocks(searches, ties.data(), kept)
    return [hit_arrays(kept[i].best()) for i in range(kept.size())]


cdef double _ask(
    tuple segments, tuple terms, int64_t live_rows, vector[vector[QueryTerm]]& asked
) except -1:
    """For each segment those of the terms that it has, in query order; the sum of all terms' idf."""
    cdef vector[int32_t] ids
    cdef Segment segment
    cdef int64_t frequency
    cdef double idf, total = 0.0
    cdef QueryTerm one
    cdef bytes encoded
    cdef size_t s
    asked.resize(len(segments))
    ids.resize(len(segments))
    for term in terms:
        encoded = (<str?>term).encode("utf-8", "replace")
        frequency = 0
        for s in range(ids.size()):
            segment = segments[s]
            ids[s] = segment.terms.find(<const uint8_t*><const char*>encoded, len(encoded))
            if ids[s] >= 0:
                frequency += segment.frequencies[ids[s]]
        idf = log((live_rows - frequency + 0.5) / (frequency + 0.5))
        if idf <= 0.0:
            idf = MIN_IDF
        total += idf
        for s in range(ids.size()):
            if ids[s] >= 0:
                one.term, one.idf = ids[s], idf
                asked[s].push_back(one)
    return total


def score_rows(tuple segments, tuple terms, int64_t live_rows, rows):
    chosen = Array[int32_t](rows, "rows")
    scores, coverage = NewArray[double](chosen.size()), NewArray[double](chosen.size())
    scores.fill(0.0)
    coverage.fill(0.0)
    score_into(segments, terms, live_rows, chosen.data(), chosen.size(), scores.data(), coverage.data())
    return scores.object(), coverage.object()


cdef double score_into(
    tuple segments, tuple terms, int64_t live_rows, const int32_t* rows, Py_ssize_t n_rows,
    double* scores, double* coverage,
) except -1:
    """Add the terms' contributions to the scores, and their shares of all idf to the coverage, of some rows.

    The rows are those of the segments. The sum of the terms' idf is returned.
    """
    cdef vector[vector[QueryTerm]] asked
    cdef double total = _ask(segments, terms, live_rows, asked)
    cdef Segment segment
    cdef size_t s
    for s in range(asked.size()):
        segment = segments[s]
        with nogil:
            score_documents(asked[s], segment.documents, rows, n_rows, scores, coverage)
    if total > 0:
        for s in range(<size_t>n_rows):
            coverage[s] /= total
    return total
