# cython: freethreading_compatible=True
"""Which of a few rows say nearly the same: pairs of vectors with a large cosine.

    first, second = alike(table, rows, 0.85)     # places in `rows`, first < second, in order of both
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from arrays cimport Array, array_of, import_numpy
from pi_rank._core.vectors cimport Kernel, VectorTable, best_kernel

import_numpy()


def alike(VectorTable table, rows, double least):
    chosen = Array[int32_t](rows, "rows")
    row_node = Array[int32_t](table.row_node, "row_node")
    cdef vector[const float*] vectors
    cdef vector[int32_t] first, second
    cdef const Kernel* kernel = best_kernel()
    cdef size_t dimension = table.table.dimension
    cdef Py_ssize_t i, j
    cdef int32_t node
    for i in range(chosen.size()):
        if not 0 <= chosen[i] < row_node.size():
            raise ValueError(f"rows must be from 0 to {row_node.size() - 1}, got {chosen[i]}")
        node = row_node[chosen[i]]
        if node < 0:
            vectors.push_back(NULL)
        else:
            vectors.push_back(table.table.vector(node))
    with nogil:
        for i in range(<Py_ssize_t>vectors.size()):
            for j in range(i + 1, <Py_ssize_t>vectors.size()):
                if vectors[i] == NULL or vectors[j] == NULL:
                    continue
                if vectors[i] == vectors[j] or kernel.score(vectors[i], vectors[j], dimension) >= least:
                    first.push_back(<int32_t>i)
                    second.push_back(<int32_t>j)
    return array_of(first), array_of(second)
