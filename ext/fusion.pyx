"""Weighted reciprocal rank fusion of ranked row lists (kernels/fusion.hpp).

    rows, scores = fuse((lexical, semantic), (0.45, 0.55), 60, 50, tie_rank)
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from arrays cimport Array, import_numpy
from topk cimport Hit, hit_arrays

import_numpy()


cdef extern from "kernels/fusion.hpp" namespace "pi_rank" nogil:
    cdef cppclass RankedList:
        const int32_t* rows
        int64_t size
        double weight

    cdef cppclass BadRank:
        int64_t list
        int64_t rank

    vector[Hit] fused(
        const vector[RankedList]&, double k, size_t limit, const int32_t* tie_rank, int64_t n_rows, BadRank& bad
    ) except +


def fuse(tuple lists, tuple weights, double k, Py_ssize_t limit, tie_rank):
    ties = Array[int32_t](tie_rank, "tie_rank")
    cdef vector[RankedList] ranked
    cdef vector[Hit] hits
    cdef Array[int32_t] rows
    cdef RankedList one
    cdef BadRank bad
    if len(lists) != len(weights):
        raise ValueError(f"each list needs one weight: {len(lists)} lists, {len(weights)} weights")
    for listed, one.weight in zip(lists, weights):
        rows = Array[int32_t](listed, "a list")  # held by the tuple
        one.rows, one.size = rows.data(), rows.size()
        ranked.push_back(one)
    with nogil:
        hits = fused(ranked, k, max(limit, 0), ties.data(), ties.size(), bad)
    if bad.list >= 0:
        raise ValueError(
            f"list {bad.list} holds row {ranked[bad.list].rows[bad.rank]} at rank {bad.rank + 1}; "
            f"rows are 0 to {ties.size() - 1}, or -1 for an id that is not in the snapshot"
        )
    return hit_arrays(hits)
