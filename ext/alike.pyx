# cython: freethreading_compatible=True
"""Which of a few rows say nearly the same: pairs of vectors with a large cosine.

    first, second, bare = alike(table, rows, 0.85)     # places in `rows`, first < second, in order of both
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from arrays cimport Array, array_of, import_numpy
from pi_rank._core.vectors cimport Kernel, Table, VectorTable, best_kernel

import_numpy()


cdef extern from "kernels/alike.hpp" namespace "pi_vectors" nogil:
    cdef cppclass Pairs:
        vector[int32_t] first
        vector[int32_t] second

    Pairs find "pi_vectors::alike"(
        const Table& table, const vector[int32_t]& nodes, double least, const Kernel& kernel
    ) except +


def alike(VectorTable table, rows, double least):
    chosen = Array[int32_t](rows, "rows")
    row_node = Array[int32_t](table.row_node, "row_node")
    cdef vector[int32_t] nodes, bare
    cdef Pairs pairs
    cdef Py_ssize_t i
    for i in range(chosen.size()):
        if not 0 <= chosen[i] < row_node.size():
            raise ValueError(f"rows must be from 0 to {row_node.size() - 1}, got {chosen[i]}")
        nodes.push_back(row_node[chosen[i]])
        if nodes.back() < 0:
            bare.push_back(<int32_t>i)
    with nogil:
        pairs = find(table.table, nodes, least, best_kernel()[0])
    return array_of(pairs.first), array_of(pairs.second), array_of(bare)
