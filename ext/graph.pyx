# cython: freethreading_compatible=True
"""Search of an HNSW graph over the codes of a vector table (kernels/graph.hpp).

    graph = LinkGraph(ground, upper, upper_begin, top)
    nodes = graph.nearest(table, query, 200)
    hits = graph.search(table, queries, 100, [200], first, rows, tie_rank, [eligible])
"""

import numpy as np

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport int_array
from topk cimport Hit, hit_arrays
from pi_rank._core.vectors cimport Kernel, Rows, Table, VectorTable, first_flag, supported_kernels

from pi_rank._core.vectors import checked_array, checked_vectors
from pi_rank.errors import VectorError

cnp.import_array()


cdef extern from "kernels/graph.hpp" namespace "pi_graph" nogil:
    cdef cppclass Links:
        const int32_t* ground
        const int32_t* upper_begin
        const int32_t* upper
        int32_t count
        int32_t m
        int32_t entry
        int32_t top

    bint are_sound(const Links&, int64_t upper_rows) except +
    cdef cppclass NodeRows:
        const int64_t* first
        const int32_t* rows
        int64_t count

    vector[int32_t] nearest(const Links&, const Table&, const float* query, size_t n, const Kernel&) except +
    vector[Hit] best_rows(
        const Links&, const Table&, const NodeRows&, const Rows&, const float* query, size_t n, size_t k,
        const Kernel&
    ) except +


cdef class LinkGraph:
    cdef const int32_t[:, ::1] ground
    cdef const int32_t[:, ::1] upper
    cdef const int32_t[::1] upper_begin
    cdef Links links

    def __init__(
        self, const int32_t[:, ::1] ground, const int32_t[:, ::1] upper, const int32_t[::1] upper_begin,
        const int32_t[::1] top,
    ):
        cdef Py_ssize_t count = ground.shape[0], m = upper.shape[1]
        if count == 0 or m == 0 or ground.shape[1] != 2 * m or upper_begin.shape[0] != count or top.shape[0] != 2:
            raise ValueError("the links of a graph have other shapes")
        self.ground, self.upper, self.upper_begin = ground, upper, upper_begin
        self.links.ground = &self.ground[0, 0]
        self.links.upper = &self.upper[0, 0]
        self.links.upper_begin = &self.upper_begin[0]
        self.links.count, self.links.m = <int32_t>count, <int32_t>m
        self.links.entry, self.links.top = top[0], top[1]
        if not are_sound(self.links, upper.shape[0]):
            raise ValueError("a link of the graph leads to a node, or to a level, that does not exist")

    def nearest(self, VectorTable table, query, Py_ssize_t n):
        query = checked_array(query, "query", np.float32, 1)[np.newaxis]
        cdef const float[:, ::1] query_view = self.checked(table, query)
        cdef const Kernel* kernel = &supported_kernels().list[0]
        cdef vector[int32_t] nodes
        if n < 0:
            raise VectorError(f"n must not be negative, but is {n}")
        with nogil:
            nodes = nearest(self.links, table.table, &query_view[0, 0], n, kernel[0])
        return int_array(nodes)

    def search(
        self, VectorTable table, queries, Py_ssize_t k, list fetched, const int64_t[::1] first,
        const int32_t[::1] rows, tie_rank, list eligible,
    ):
        cdef const float[:, ::1] query_view = self.checked(table, checked_vectors(queries, "query", table.dimension))
        cdef const int32_t[::1] node_view = table.row_node
        cdef const int32_t[::1] tie_view = table.per_row(tie_rank, "tie_rank", np.int32)
        cdef const Kernel* kernel = &supported_kernels().list[0]
        cdef vector[vector[Hit]] found
        cdef vector[const uint8_t*] flags
        cdef vector[size_t] wanted = fetched
        cdef NodeRows node_rows
        cdef Rows what
        cdef size_t i
        if first.shape[0] != table.table.count + 1 or rows.shape[0] != node_view.shape[0]:
            raise VectorError("the rows of the nodes are not those of the table")
        if k < 0 or wanted.size() != <size_t>query_view.shape[0] or len(eligible) != query_view.shape[0]:
            raise VectorError(f"{query_view.shape[0]} queries need k >= 0, and as many sizes and eligibility arrays")
        node_rows.first, node_rows.rows, node_rows.count = &first[0], &rows[0], rows.shape[0]
        what.row_node, what.tie_rank = &node_view[0], &tie_view[0]
        eligible = [None if each is None else table.per_row(each, "eligible", np.uint8) for each in eligible]
        for each in eligible:  # held by the list while they are read
            flags.push_back(first_flag(each))
        found.resize(wanted.size())
        with nogil:
            for i in range(wanted.size()):
                what.eligible = flags[i]
                found[i] = best_rows(
                    self.links, table.table, node_rows, what, &query_view[i, 0], wanted[i], k, kernel[0]
                )
        return [hit_arrays(found[i]) for i in range(found.size())]

    cdef checked(self, VectorTable table, queries):
        if table.table.count < self.links.count:
            raise VectorError(f"the graph has {self.links.count} nodes, the table {table.table.count} vectors")
        if queries.shape[1] != table.dimension:
            raise VectorError(f"query has dimension {queries.shape[1]}, the table {table.dimension}")
        if not np.isfinite(queries).all():
            raise VectorError("query holds a value that is not finite (NaN or infinity)")
        return queries
