"""BM25 as FTS5 computes it, over postings in memory: block-wise accumulation and partial selection.

    segment = Segment(postings.build(packed), frequencies, impacts)
    (rows, scores), = search((segment,), [("bun", "test")], live_rows, 10, [eligible], tie_rank)

Rows are scored in blocks that fit in the first-level cache, every term of a block in query order: the scratch
does not grow with the corpus, and each sum has FTS5's order of additions, so that equal scores stay equal.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memset
from libcpp.vector cimport vector

from terms cimport find_term
from topk cimport Hit, KeptHits, hit_arrays

cnp.import_array()

cdef enum:
    BLOCK = 4096  # rows; 32 KiB of sums
    STRIDE = 8  # rows looked at together when the hits of a block are gathered: KeptHits makes room for them

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


cdef struct Cursor:
    const int32_t* rows
    const int32_t* codes
    const double* impacts
    double idf
    int64_t at
    int64_t end


cdef cppclass Search:
    """One query over one segment."""
    size_t query
    const uint8_t* eligible
    int64_t first_row
    int64_t n_rows
    vector[Cursor] cursors


cdef class Segment:
    """One segment's arrays as the kernels read them, with the statistics of one version of the index."""

    cdef const uint8_t[::1] blob
    cdef const int64_t[::1] ends
    cdef const int32_t[::1] slots
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] rows
    cdef const int32_t[::1] codes
    cdef const int64_t[::1] document_offsets
    cdef const int32_t[::1] document_terms
    cdef const int32_t[::1] document_codes
    cdef const int32_t[::1] frequencies
    cdef const double[::1] impacts
    cdef int64_t first_row
    cdef int64_t n_rows

    def __init__(self, dict arrays, frequencies, impacts):
        self.blob = arrays["blob"]
        self.ends = arrays["ends"]
        self.slots = arrays["slots"]
        self.offsets = arrays["offsets"]
        self.rows = arrays["rows"]
        self.codes = arrays["codes"]
        self.document_offsets = arrays["document_offsets"]
        self.document_terms = arrays["document_terms"]
        self.document_codes = arrays["document_codes"]
        self.frequencies = frequencies
        self.impacts = impacts
        self.first_row = arrays["first_row"][0]
        self.n_rows = arrays["lengths"].size
        if frequencies.size != self.ends.shape[0] - 1 or impacts.size != arrays["pair_length"].size:
            raise ValueError("the statistics are not this segment's")

    cdef int32_t find(self, bytes term) noexcept:
        cdef int64_t slot
        return find_term(
            <const uint8_t*><const char*>term, len(term), &self.slots[0], self.slots.shape[0],
            &self.ends[0], &self.blob[0], &slot,
        )

    cdef vector[Cursor] cursors(self, const vector[QueryTerm]& terms) noexcept:
        cdef vector[Cursor] cursors
        cdef Cursor cursor
        cdef size_t i
        cursor.rows = &self.rows[0]
        cursor.codes = &self.codes[0]
        cursor.impacts = &self.impacts[0]
        for i in range(terms.size()):
            cursor.idf = terms[i].idf
            cursor.at = self.offsets[terms[i].term]
            cursor.end = self.offsets[terms[i].term + 1]
            cursors.push_back(cursor)
        return cursors

    cdef Documents documents(self) noexcept:
        cdef Documents found
        found.first_row, found.n_rows = self.first_row, self.n_rows
        found.offsets = &self.document_offsets[0]
        found.terms = &self.document_terms[0]
        found.codes = &self.document_codes[0]
        found.impacts = &self.impacts[0]
        return found


def search(
    tuple segments, list queries, int64_t live_rows, Py_ssize_t k, list eligible, const int32_t[::1] tie_rank
):
    cdef vector[vector[QueryTerm]] asked
    cdef vector[Search] searches
    cdef vector[KeptHits] kept
    cdef Segment segment
    cdef const uint8_t[::1] flags
    cdef Search search
    cdef double* sums
    cdef size_t s, i
    for terms, flags in zip(queries, eligible, strict=True):
        n_rows = min(flags.shape[0], tie_rank.shape[0])
        kept.push_back(KeptHits(max(0, min(k, n_rows)), n_rows))
        asked.clear()
        _ask(segments, terms, live_rows, asked)
        for s in range(asked.size()):
            segment = segments[s]
            if segment.first_row + segment.n_rows > n_rows:
                raise ValueError("eligible and tie_rank must have an entry for every row of the segments")
            search.query = kept.size() - 1
            search.eligible = &flags[0]  # held by the list of the caller
            search.first_row, search.n_rows = segment.first_row, segment.n_rows
            search.cursors = segment.cursors(asked[s])
            if kept.back().k:
                searches.push_back(search)
    sums = <double*>calloc(BLOCK, sizeof(double))
    if sums == NULL:
        raise MemoryError
    with nogil:
        for i in range(searches.size()):
            _score_segment(searches[i], sums, &tie_rank[0], kept[searches[i].query])
    free(sums)
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
    cdef size_t s
    asked.resize(len(segments))
    ids.resize(len(segments))
    for term in terms:
        encoded = (<str?>term).encode("utf-8", "replace")
        frequency = 0
        for s in range(ids.size()):
            segment = segments[s]
            ids[s] = segment.find(encoded)
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


cdef void _score_segment(
    Search& search, double* sums, const int32_t* tie_rank, KeptHits& kept
) noexcept nogil:
    cdef int64_t start = search.first_row, last = search.first_row + search.n_rows, end
    cdef const uint8_t* eligible = search.eligible
    cdef size_t i
    while start < last and search.cursors.size():
        end = min(start + BLOCK, last)
        if not eligible[start] and memcmp(eligible + start, eligible + start + 1, end - start - 1) == 0:
            for i in range(search.cursors.size()):
                _skip(&search.cursors[i], end)
        else:
            for i in range(search.cursors.size()):
                _accumulate(&search.cursors[i], sums - start, end)
            if memchr(eligible + start, 0, end - start) != NULL:
                _silence(sums, eligible + start, end - start)
            _gather(sums, start, end, eligible, tie_rank, kept)
            memset(sums, 0, BLOCK * sizeof(double))
        start = end


cdef inline void _silence(double* sums, const uint8_t* eligible, int64_t n_rows) noexcept nogil:
    """Zero the sums of rows that may not be returned: they would be looked at again for each that is high."""
    cdef int64_t i
    for i in range(n_rows):
        sums[i] = sums[i] if eligible[i] else 0.0


cdef inline void _accumulate(Cursor* cursor, double* sums, int64_t end) noexcept nogil:
    """Add one term's contributions to the rows before `end`; sums is indexed by row."""
    cdef const int32_t* rows = cursor.rows
    cdef const int32_t* codes = cursor.codes
    cdef const double* impacts = cursor.impacts
    cdef double idf = cursor.idf
    cdef int64_t at = cursor.at, last = cursor.end
    while at < last and rows[at] < end:
        sums[rows[at]] += idf * impacts[codes[at]]
        at += 1
    cursor.at = at


cdef inline void _skip(Cursor* cursor, int64_t end) noexcept nogil:
    cursor.at = _first_at_least(cursor.rows, cursor.at, cursor.end, end)


cdef int64_t _first_at_least(const int32_t* rows, int64_t at, int64_t last, int64_t row) noexcept nogil:
    """Where `row` is or would be in rows[at:last], by galloping and then halving."""
    cdef int64_t step = 1, high, middle
    if at >= last or rows[at] >= row:
        return at
    while at + step < last and rows[at + step] < row:
        at += step
        step *= 2
    high = min(at + step, last)
    at += 1
    while at < high:
        middle = at + (high - at) // 2
        if rows[middle] < row:
            at = middle + 1
        else:
            high = middle
    return at


cdef inline double _larger(double one, double other) noexcept nogil:
    return one if one > other else other


cdef inline double _largest(const double* sums) noexcept nogil:
    """The largest of STRIDE sums, as a tree: a chain of comparisons would wait for each other."""
    return _larger(
        _larger(_larger(sums[0], sums[4]), _larger(sums[1], sums[5])),
        _larger(_larger(sums[2], sums[6]), _larger(sums[3], sums[7])),
    )


cdef void _gather(
    const double* sums, int64_t start, int64_t end,
    const uint8_t* eligible, const int32_t* tie_rank, KeptHits& kept,
) noexcept nogil:
    """Keep the block's hits that rank before the bar. Sums are zero past the end of a short block."""
    cdef int64_t i = 0, j, row, n_rows = end - start
    cdef double bar = kept.bar.score
    cdef int32_t bar_tie = kept.bar.tie
    cdef bint better
    cdef size_t count = kept.count
    cdef Hit* hits = &kept.hits[0]
    while i < n_rows:
        if _largest(sums + i) >= bar:
            kept.make_room()
            bar, bar_tie, count = kept.bar.score, kept.bar.tie, kept.count
            for j in range(i, min(i + STRIDE, n_rows)):
                row = start + j
                hits[count].score = sums[j]
                hits[count].tie = tie_rank[row]
                hits[count].row = <int32_t>row
                # Without a branch, which would be mispredicted for most of the hits.
                better = (sums[j] > bar) | ((sums[j] == bar) & (tie_rank[row] < bar_tie))
                count += (eligible[row] != 0) & better
            kept.count = count
        i += STRIDE


def score_rows(tuple segments, tuple terms, int64_t live_rows, const int32_t[::1] rows):
    cdef Py_ssize_t n_rows = rows.shape[0]
    scores_array, coverage_array = np.zeros(n_rows), np.zeros(n_rows)
    cdef double[::1] scores = scores_array, coverage = coverage_array
    score_into(segments, terms, live_rows, &rows[0], n_rows, &scores[0], &coverage[0])
    return scores_array, coverage_array


cdef double score_into(
    tuple segments, tuple terms, int64_t live_rows, const int32_t* rows, Py_ssize_t n_rows,
    double* scores, double* coverage,
) except -1:
    """Add the terms' contributions to the scores, and their shares of all idf to the coverage, of some rows.

    The rows are those of the segments. The sum of the terms' idf is returned.
    """
    cdef vector[vector[QueryTerm]] asked
    cdef double total = _ask(segments, terms, live_rows, asked)
    cdef Documents documents
    cdef Segment segment
    cdef size_t s
    for s in range(asked.size()):
        segment = segments[s]
        documents = segment.documents()
        with nogil:
            score_documents(asked[s], documents, rows, n_rows, scores, coverage)
    if total > 0:
        for s in range(<size_t>n_rows):
            coverage[s] /= total
    return total
