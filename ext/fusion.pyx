"""Weighted reciprocal rank fusion of ranked row lists: open addressing with linear probing, then a merge.

    rows, scores = fuse((lexical, semantic), (0.45, 0.55), 60, 50, tie_rank)

The scratch is one table of twice the number of listed rows, not of all rows.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, uint64_t
from libcpp.algorithm cimport is_sorted, merge, sort
from libcpp.vector cimport vector

from topk cimport Hit, hit_arrays

cnp.import_array()


cdef struct Entry:
    int32_t row
    int32_t first_list
    int32_t last_list
    double score


def fuse(tuple lists, tuple weights, double k, Py_ssize_t limit, const int32_t[::1] tie_rank):
    cdef vector[Entry] table
    cdef vector[Hit] hits
    cdef vector[const int32_t*] starts
    cdef vector[Py_ssize_t] sizes
    cdef vector[double] shares = weights
    cdef const int32_t[::1] rows
    cdef Py_ssize_t n_rows = tie_rank.shape[0], bad = -1
    cdef size_t entries = 0, size = 16, number
    cdef Entry empty = Entry(-1, -1, -1, 0.0)
    for rows in lists:
        starts.push_back(&rows[0])
        sizes.push_back(rows.shape[0])
        entries += rows.shape[0]
    if shares.size() != sizes.size():
        raise ValueError(f"each list needs one weight: {sizes.size()} lists, {shares.size()} weights")
    while size < 2 * entries:
        size *= 2
    with nogil:
        table.assign(size, empty)
        for number in range(sizes.size()):
            bad = _add(table, starts[number], sizes[number], <int32_t>number, shares[number], k, n_rows)
            if bad >= 0:
                break
        if bad < 0:
            _select(table, starts, sizes, max(limit, 0), &tie_rank[0], hits)
    if bad >= 0:
        raise ValueError(
            f"list {number} holds row {starts[number][bad]} at rank {bad + 1}; rows are 0 to {n_rows - 1}, "
            "or -1 for an id that is not in the snapshot"
        )
    return hit_arrays(hits)


cdef Py_ssize_t _add(
    vector[Entry]& table, const int32_t* rows, Py_ssize_t size, int32_t number, double weight, double k,
    Py_ssize_t n_rows,
) noexcept nogil:
    """Add one list's contributions. The index of a row outside [-1, n_rows), or -1 when all are inside."""
    cdef size_t at
    cdef Py_ssize_t i
    cdef int32_t row
    for i in range(size):
        row = rows[i]
        if row == -1:
            continue
        if row < 0 or row >= n_rows:
            return i
        at = _slot(table, row)
        if table[at].last_list == number:
            continue  # a duplicate: it counts once, at its best rank
        if table[at].row == -1:
            table[at].row = row
            table[at].first_list = number
        table[at].last_list = number
        table[at].score += weight / (k + <double>(i + 1))
    return -1


cdef inline size_t _slot(const vector[Entry]& table, int32_t row) noexcept nogil:
    """Where the row is, or would be."""
    cdef size_t mask = table.size() - 1
    cdef size_t at = (<uint64_t>row * <uint64_t>0x9E3779B97F4A7C15 >> 32) & mask
    while table[at].row != row and table[at].row != -1:
        at = (at + 1) & mask
    return at


cdef void _select(
    vector[Entry]& table, const vector[const int32_t*]& starts, const vector[Py_ssize_t]& sizes,
    size_t limit, const int32_t* tie_rank, vector[Hit]& hits,
) noexcept nogil:
    """The best `limit` entries, best first.

    Rows of one list only are in order already: a list's contributions fall with the rank. Merging them costs a
    third of sorting everything, whose comparisons the processor cannot foresee.
    """
    cdef vector[Hit] shared, run, merged
    cdef Hit hit
    cdef int32_t number
    cdef Py_ssize_t i
    cdef size_t at
    for number in range(<int32_t>sizes.size()):
        run.clear()
        for i in range(sizes[number]):
            if starts[number][i] == -1:
                continue
            at = _slot(table, starts[number][i])
            if table[at].first_list != number:
                continue  # taken already, or counted with an earlier list
            hit.row = table[at].row
            hit.score = table[at].score
            hit.tie = tie_rank[hit.row]
            if table[at].last_list == number:
                run.push_back(hit)
            else:
                shared.push_back(hit)
            table[at].first_list = -1
        _merge(hits, run, merged)
    _merge(hits, shared, merged)
    if limit < hits.size():
        hits.resize(limit)


cdef inline void _merge(vector[Hit]& hits, vector[Hit]& more, vector[Hit]& merged) noexcept nogil:
    """Add `more`, sorted where it is not, to the sorted `hits`; `merged` is scratch."""
    if not is_sorted(more.begin(), more.end()):  # with a weight of 0 only the tie ranks make the order
        sort(more.begin(), more.end())
    merged.resize(hits.size() + more.size())
    merge(hits.begin(), hits.end(), more.begin(), more.end(), merged.begin())
    hits.swap(merged)
