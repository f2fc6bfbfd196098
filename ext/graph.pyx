# cython: freethreading_compatible=True
"""Search of an HNSW graph over the codes of a vector table (kernels/graph.hpp).

    graph = LinkGraph(ground, upper, upper_begin, top)
    nodes = graph.nearest(table, query, 200)
    hits = graph.search(table, queries, 100, [200], first, rows, tie_rank, [eligible])
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport Array, Matrix, array_of, import_numpy
from topk cimport Hit, hit_arrays
from pi_rank._core.vectors cimport Kernel, Rows, Table, VectorTable, best_kernel, first_flag, nearest_rows

from pi_rank._core.vectors import checked_array, checked_vectors
from pi_rank.errors import VectorError

import_numpy()


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
    vector[int32_t] near_rows(
        const Links&, const Table&, const NodeRows&, const float* query, size_t n, const Kernel&
    ) except +


cdef class LinkGraph:
    cdef Matrix[int32_t] ground
    cdef Matrix[int32_t] upper
    cdef Array[int32_t] upper_begin
    cdef Links links

    def __init__(self, ground, upper, upper_begin, top):
        self.ground = Matrix[int32_t](ground, "ground")
        self.upper = Matrix[int32_t](upper, "upper")
        self.upper_begin = Array[int32_t](upper_begin, "upper_begin")
        highest = Array[int32_t](top, "top")
        cdef Py_ssize_t count = self.ground.rows(), m = self.upper.columns()
        if not (count and m and self.ground.columns() == 2 * m and self.upper_begin.size() == count and highest.size() == 2):
            raise ValueError("the links of a graph have other shapes")
        self.links.ground = self.ground.data()
        self.links.upper = self.upper.data()
        self.links.upper_begin = self.upper_begin.data()
        self.links.count, self.links.m = <int32_t>count, <int32_t>m
        self.links.entry, self.links.top = highest[0], highest[1]
        if not are_sound(self.links, self.upper.rows()):
            raise ValueError("a link of the graph leads to a node, or to a level, that does not exist")

    def nearest(self, VectorTable table, query, Py_ssize_t n):
        asked = self.checked(table, checked_array(query, "query", np.float32, 1)[np.newaxis])
        cdef vector[int32_t] nodes
        if n < 0:
            raise VectorError(f"n must not be negative, but is {n}")
        with nogil:
            nodes = nearest(self.links, table.table, asked.data(), n, best_kernel()[0])
        return array_of(nodes)

    def search(self, VectorTable table, queries, Py_ssize_t k, list fetched, first, rows, tie_rank, list eligible):
        asked = self.checked(table, checked_vectors(queries, "query", table.dimension))
        first_row = Array[int64_t](first, "first")
        rows_of_nodes = Array[int32_t](rows, "rows")
        row_node = Array[int32_t](table.row_node, "row_node")
        ties = Array[int32_t](table.per_row(tie_rank, "tie_rank", np.int32), "tie_rank")
        cdef vector[vector[Hit]] found
        cdef vector[int32_t] near
        cdef vector[const uint8_t*] flags
        cdef vector[size_t] wanted = fetched
        cdef NodeRows node_rows
        cdef Rows what
        cdef size_t i
        if first_row.size() != table.table.count + 1 or rows_of_nodes.size() != row_node.size():
            raise VectorError("the rows of the nodes are not those of the table")
        if k < 0 or <Py_ssize_t>wanted.size() != asked.rows() or len(eligible) != asked.rows():
            raise VectorError(f"{asked.rows()} queries need k >= 0, and as many sizes and eligibility arrays")
        node_rows.first, node_rows.rows, node_rows.count = first_row.data(), rows_of_nodes.data(), rows_of_nodes.size()
        what.row_node, what.tie_rank = row_node.data(), ties.data()
        eligible = [None if each is None else table.per_row(each, "eligible", np.uint8) for each in eligible]
        for each in eligible:  # held by the list while they are read
            flags.push_back(first_flag(each))
        found.resize(wanted.size())
        with nogil:
            for i in range(wanted.size()):
                what.eligible = flags[i]
                near = near_rows(self.links, table.table, node_rows, asked[i], wanted[i], best_kernel()[0])
                what.rows, what.count = near.data(), near.size()
                nearest_rows(table.table, what, asked[i], k, found[i])
        return [hit_arrays(found[i]) for i in range(found.size())]

    cdef Matrix[float] checked(self, VectorTable table, queries) except *:
        if table.table.count < self.links.count:
            raise VectorError(f"the graph has {self.links.count} nodes, the table {table.table.count} vectors")
        if queries.shape[1] != table.dimension:
            raise VectorError(f"query has dimension {queries.shape[1]}, the table {table.dimension}")
        if not np.isfinite(queries).all():
            raise VectorError("query holds a value that is not finite (NaN or infinity)")
        return Matrix[float](queries, "query")
