"""Weighted reciprocal rank fusion of ranked row lists: one pass, open addressing with linear probing.

    rows, scores = fuse((lexical, semantic), (0.45, 0.55), 60, 50, tie_rank)

The scratch is one table of twice the number of listed rows, not of all rows.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from topk cimport Hit, finish, hit_arrays

cnp.import_array()


cdef struct Entry:
    int32_t row
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
    cdef Entry empty = Entry(-1, -1, 0.0)
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
            _select(table, max(limit, 0), &tie_rank[0], hits)
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
    cdef size_t mask = table.size() - 1, at
    cdef Py_ssize_t i
    cdef int32_t row
    for i in range(size):
        row = rows[i]
        if row == -1:
            continue
        if row < 0 or row >= n_rows:
            return i
        at = (<uint64_t>row * <uint64_t>0x9E3779B97F4A7C15 >> 32) & mask
        while table[at].row != row and table[at].row != -1:
            at = (at + 1) & mask
        if table[at].last_list == number:
            continue  # a duplicate: it counts once, at its best rank
        table[at].row = row
        table[at].last_list = number
        table[at].score += weight / (k + <double>(i + 1))
    return -1


cdef void _select(
    vector[Entry]& table, size_t limit, const int32_t* tie_rank, vector[Hit]& hits
) noexcept nogil:
    """The best `limit` entries, best first."""
    cdef Hit hit
    cdef size_t i
    hits.reserve(table.size() // 2)
    for i in range(table.size()):
        if table[i].row != -1:
            hit.row = table[i].row
            hit.score = table[i].score
            hit.tie = tie_rank[hit.row]
            hits.push_back(hit)
    finish(hits, limit)
