# cython: freethreading_compatible=True
"""Search of an HNSW graph over the codes of a vector table (graph.hpp).

    graph = LinkGraph(ground, upper, upper_begin, top)
    nodes = graph.nearest(table, query, 200)
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from arrays cimport int_array
from pi_rank._core.vectors cimport Kernel, Table, VectorTable, supported_kernels

from pi_rank._core.vectors import checked_array
from pi_rank.errors import VectorError

cnp.import_array()


cdef extern from "graph.hpp" namespace "pi_graph" nogil:
    cdef cppclass Links:
        const int32_t* ground
        const int32_t* upper_begin
        const int32_t* upper
        int32_t count
        int32_t m
        int32_t entry
        int32_t top

    bint are_sound(const Links&, int64_t upper_rows) except +
    vector[int32_t] nearest(const Links&, const Table&, const float* query, size_t n, const Kernel&) except +


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
        cdef const float[::1] query_view = checked_array(query, "query", np.float32, 1)
        cdef const Kernel* kernel = &supported_kernels().list[0]
        cdef vector[int32_t] nodes
        cdef Py_ssize_t i
        if n < 0 or table.table.count < self.links.count:
            raise VectorError(f"asked for {n} of {self.links.count} nodes, the table has {table.table.count}")
        if query_view.shape[0] != <Py_ssize_t>table.table.dimension:
            raise VectorError(f"query has dimension {query_view.shape[0]}, the table {table.table.dimension}")
        for i in range(query_view.shape[0]):
            if not isfinite(query_view[i]):
                raise VectorError("query holds a value that is not finite (NaN or infinity)")
        if n:
            with nogil:
                nodes = nearest(self.links, table.table, &query_view[0], n, kernel[0])
        return int_array(nodes)
