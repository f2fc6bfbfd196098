"""BM25 as FTS5 computes it, over postings in memory: block-wise accumulation and a bounded heap.

    segment = Segment(postings.build(packed), frequencies, impacts)
    rows, scores = search((segment,), ("bun", "test"), live_rows, 10, eligible, tie_rank)

Rows are scored in blocks that fit in the first-level cache, every term of a block in query order: the scratch
does not grow with the corpus, and each sum has FTS5's order of additions, so that equal scores stay equal.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset
from libcpp.algorithm cimport sort_heap
from libcpp.vector cimport vector

from terms cimport find_term
from topk cimport Hit, hit_arrays, offer

cnp.import_array()

cdef enum:
    BLOCK = 4096  # rows; 32 KiB of sums
    STRIDE = 8  # rows looked at together when the hits of a block are gathered

cdef double MIN_IDF = 1e-6  # FTS5's floor for a term that half of the rows have


cdef struct Cursor:
    const int32_t* rows
    const int32_t* codes
    const double* impacts
    double idf
    int64_t at
    int64_t end


cdef class Segment:
    """One segment's arrays as the kernels read them, with the statistics of one version of the index."""

    cdef const uint8_t[::1] blob
    cdef const int64_t[::1] ends
    cdef const int32_t[::1] slots
    cdef const uint8_t[::1] function
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] rows
    cdef const int32_t[::1] codes
    cdef const int32_t[::1] frequencies
    cdef const double[::1] impacts
    cdef int64_t first_row
    cdef int64_t n_rows

    def __init__(self, dict arrays, frequencies, impacts):
        self.blob = arrays["blob"]
        self.ends = arrays["ends"]
        self.slots = arrays["slots"]
        self.function = arrays["function"]
        self.offsets = arrays["offsets"]
        self.rows = arrays["rows"]
        self.codes = arrays["codes"]
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

    cdef Cursor cursor(self, int32_t term, double idf) noexcept:
        cdef Cursor cursor
        cursor.rows = &self.rows[0]
        cursor.codes = &self.codes[0]
        cursor.impacts = &self.impacts[0]
        cursor.idf = idf
        cursor.at = self.offsets[term]
        cursor.end = self.offsets[term + 1]
        return cursor


def search(
    tuple segments, tuple terms, int64_t live_rows, Py_ssize_t k,
    const uint8_t[::1] eligible, const int32_t[::1] tie_rank,
):
    cdef vector[vector[Cursor]] cursors
    cdef vector[int32_t] ids
    cdef vector[Hit] kept
    cdef Segment segment
    cdef int64_t frequency
    cdef double idf
    cdef size_t s, n_segments = len(segments)
    cdef double* sums
    if k <= 0:
        return hit_arrays(kept)
    cursors.resize(n_segments)
    ids.resize(n_segments)
    for term in terms:
        encoded = (<str?>term).encode("utf-8", "replace")
        frequency = 0
        for s in range(n_segments):
            segment = <Segment?>segments[s]
            ids[s] = segment.find(encoded)
            if ids[s] >= 0:
                frequency += segment.frequencies[ids[s]]
        idf = log((live_rows - frequency + 0.5) / (frequency + 0.5))
        if idf <= 0.0:
            idf = MIN_IDF
        for s in range(n_segments):
            if ids[s] >= 0:
                cursors[s].push_back((<Segment>segments[s]).cursor(ids[s], idf))
    sums = <double*>calloc(BLOCK, sizeof(double))
    if sums == NULL:
        raise MemoryError
    for s in range(n_segments):
        segment = <Segment>segments[s]
        if cursors[s].size():
            with nogil:
                _score_segment(
                    segment.first_row, segment.n_rows, cursors[s], sums, k,
                    &eligible[0], &tie_rank[0], kept,
                )
    free(sums)
    sort_heap(kept.begin(), kept.end())
    return hit_arrays(kept)


cdef void _score_segment(
    int64_t first_row, int64_t n_rows, vector[Cursor]& cursors, double* sums, size_t k,
    const uint8_t* eligible, const int32_t* tie_rank, vector[Hit]& kept,
) noexcept nogil:
    cdef int64_t start = first_row, last = first_row + n_rows, end
    cdef size_t i
    while start < last:
        end = min(start + BLOCK, last)
        if not eligible[start] and memcmp(eligible + start, eligible + start + 1, end - start - 1) == 0:
            for i in range(cursors.size()):
                _skip(&cursors[i], end)
        else:
            for i in range(cursors.size()):
                _accumulate(&cursors[i], sums - start, end)
            _gather(sums, start, end, k, eligible, tie_rank, kept)
            memset(sums, 0, BLOCK * sizeof(double))
        start = end


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


cdef void _gather(
    const double* sums, int64_t start, int64_t end, size_t k,
    const uint8_t* eligible, const int32_t* tie_rank, vector[Hit]& kept,
) noexcept nogil:
    """Offer the block's hits. A stride is passed over at once where none of it can enter the k best."""
    cdef double bar = kept[0].score if kept.size() == k else 0.0
    cdef double best
    cdef int64_t stride, i, j, row, n_rows = end - start
    cdef uint64_t any_eligible
    cdef Hit hit
    for stride in range((n_rows + STRIDE - 1) // STRIDE):  # sums is zero past the end of a short block
        i = stride * STRIDE
        if i + STRIDE <= n_rows:
            memcpy(&any_eligible, eligible + start + i, STRIDE)
            if any_eligible == 0:
                continue
        best = sums[i]
        for j in range(1, STRIDE):
            best = sums[i + j] if sums[i + j] > best else best
        if best < bar or best <= 0.0:
            continue
        for j in range(i, min(i + STRIDE, n_rows)):
            row = start + j
            if eligible[row] and sums[j] >= bar and sums[j] > 0.0:
                hit.score = sums[j]
                hit.tie = tie_rank[row]
                hit.row = <int32_t>row
                offer(kept, k, hit)
                bar = kept[0].score if kept.size() == k else 0.0


def shared_content(tuple segments, tuple terms, const int32_t[::1] rows):
    shared_array = np.zeros(rows.shape[0], np.int32)
    cdef int32_t[::1] shared = shared_array
    cdef Segment segment
    cdef int32_t term
    for segment in segments:
        for text in terms:
            term = segment.find((<str?>text).encode("utf-8", "replace"))
            if term >= 0 and not segment.function[term]:
                with nogil:
                    _count_shared(segment, term, rows, shared)
    return shared_array


cdef void _count_shared(
    Segment segment, int32_t term, const int32_t[::1] wanted, int32_t[::1] shared
) noexcept nogil:
    """Add one to every wanted row that has the term; both lists ascend, so each is walked once."""
    cdef const int32_t* rows = &segment.rows[0]
    cdef int64_t at = segment.offsets[term], last = segment.offsets[term + 1]
    cdef Py_ssize_t i
    for i in range(wanted.shape[0]):
        at = _first_at_least(rows, at, last, wanted[i])
        if at == last:
            break
        shared[i] += rows[at] == wanted[i]
