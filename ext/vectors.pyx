# cython: freethreading_compatible=True, binding=True
"""Exact nearest neighbours among rows of a memory snapshot: int8 codes to prune, float64 scores to decide.

    table = VectorTable.build(vectors, row_node)          # float32[m, d] of unit length, int32[n]
    table = table.updated(new_vectors, row_node)          # shares what is there
    rows, scores = table.search(query, 10, tie_rank=tie_rank, eligible=eligible)

The algorithm, and why it is exact, is described in kernels/vectors.hpp.
"""

from __future__ import annotations

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.math cimport NAN
from libc.string cimport memcpy
from libcpp.vector cimport vector

from arrays cimport Array, Matrix, NewArray, import_numpy
from topk cimport Hit, hit_arrays

from pi_rank.errors import VectorError

cdef extern from "kernels/vectors.hpp" namespace "pi_vectors" nogil:
    int SEGMENT_ROWS
    size_t STEP

    cdef cppclass Kernels:
        Kernel[3] list
        size_t count

    const Kernels& supported_kernels()
    double length(const float*, size_t)
    int64_t first_not_unit(const float*, int64_t, size_t, double)
    Table appended(const Table&, const float*, int64_t) except +
    vector[Hit] search_one(const Table&, const Rows&, const float* query, int64_t k, const Kernel&) except +
    vector[vector[Hit]] search_many(const Table&, const Rows&, const vector[const uint8_t*]&, const float*,
                                    int64_t, const Kernel&) except +


import_numpy()

cdef double TOLERANCE = 1e-3  # how far from 1 the length of a "unit" vector may be; a float16 copy stays within
NORM_TOLERANCE = TOLERANCE


def kernels() -> tuple[str, ...]:
    """Names of the kernels that this processor can run, best first. All give the same results."""
    cdef size_t i
    return tuple([supported_kernels().list[i].name.decode() for i in range(supported_kernels().count)])


cdef const Kernel* best_kernel() noexcept nogil:
    return &supported_kernels().list[0]


cdef int nearest_rows(
    const Table& table, const Rows& rows, const float* query, int64_t k, vector[Hit]& found
) except -1 nogil:
    found = search_one(table, rows, query, k, best_kernel()[0])
    return 0


cdef size_t kernel_index(name) except *:
    if name is None:
        return 0
    if name not in kernels():
        raise VectorError(f"unknown kernel {name!r}; this processor runs {', '.join(kernels())}")
    return kernels().index(name)


def checked_array(value, name, dtype, ndim):
    """`value` as a C-contiguous array, copied only where it is not one.

    :raises VectorError: not an array, or of another dtype or number of dimensions.
    """
    if not isinstance(value, np.ndarray):
        raise VectorError(f"{name} must be a numpy array of {np.dtype(dtype)}, not {type(value).__name__}")
    if value.dtype != dtype:
        raise VectorError(f"{name} must have dtype {np.dtype(dtype)}, not {value.dtype}: convert it first")
    if value.ndim != ndim:
        raise VectorError(f"{name} must have {ndim} dimension(s), not {value.ndim} (shape {value.shape})")
    return np.ascontiguousarray(value)


def checked_vectors(value, name, dimension=None):
    """`value` as float32[m, d] of finite vectors of unit length.

    :raises VectorError: wrong dtype, shape or dimension, a value that is not finite, or a length that is not 1
        within NORM_TOLERANCE; the message names the first such vector.
    """
    array = checked_array(value, name, np.float32, 2)
    if array.shape[1] == 0 or array.shape[1] > 65536:
        raise VectorError(f"{name} must have a dimension between 1 and 65536, not {array.shape[1]}")
    if dimension is not None and array.shape[1] != dimension:
        raise VectorError(f"{name} has dimension {array.shape[1]}, the index {dimension}: was the model changed?")
    vectors = Matrix[float](array, "vectors")
    cdef int64_t at
    with nogil:
        at = first_not_unit(vectors.data(), vectors.rows(), vectors.columns(), TOLERANCE)
    if at < vectors.rows():
        if not np.isfinite(array[at]).all():
            raise VectorError(f"{name}[{at}] holds a value that is not finite (NaN or infinity)")
        raise VectorError(
            f"{name}[{at}] has length {length(vectors[at], vectors.columns()):.4g}, not 1: normalise vectors first"
        )
    return array


cdef class VectorTable:
    """Unit vectors ("nodes") and the rows that have them. Immutable; many threads may search it at once.

    Several rows may share a node; a row whose node is -1 has no vector and is never found.
    """

    @staticmethod
    def build(vectors, row_node):
        """A table of `vectors` (float32[m, d], unit length, copied) for rows with `row_node` (int32[n], -1: none).

        :raises VectorError: see `checked_vectors`; or a node that does not exist.
        """
        checked = Matrix[float](checked_vectors(vectors, "vectors"), "vectors")
        cdef VectorTable made = VectorTable.__new__(VectorTable)
        made.table.dimension = checked.columns()
        made.table.width = (made.table.dimension + STEP - 1) // STEP * STEP
        made.fill(checked)
        made.set_rows(row_node)
        return made

    def updated(self, new_vectors, row_node):
        """This table with `new_vectors` (float32[m, d], may be empty) behind its own, and other rows.

        Costs the new vectors and the rows, not the table: the old vectors are shared.

        :raises VectorError: as `build`, or another dimension.
        """
        checked = Matrix[float](checked_vectors(new_vectors, "new_vectors", self.dimension), "new_vectors")
        cdef VectorTable made = VectorTable.__new__(VectorTable)
        made.table = self.table
        made.fill(checked)
        made.set_rows(row_node)
        return made

    cdef int fill(self, const Matrix[float]& vectors) except -1:
        cdef int64_t n = vectors.rows()
        if n > 0x7FFFFFFF - SEGMENT_ROWS - self.table.count:
            raise VectorError(f"{n + self.table.count} vectors do not fit: an index holds fewer than 2^31")
        with nogil:
            self.table = appended(self.table, vectors.data(), n)
        return 0

    cdef int set_rows(self, row_node) except -1:
        nodes = checked_array(row_node, "row_node", np.int32, 1).copy()
        if nodes.size and (nodes.min() < -1 or nodes.max() >= self.count):
            at = int(np.argmax((nodes < -1) | (nodes >= self.count)))
            raise VectorError(f"row_node[{at}] is {nodes[at]}, but there are {self.count} vectors")
        nodes.setflags(write=False)
        self.row_node = nodes
        return 0

    @property
    def count(self):
        """Number of vectors."""
        return self.table.count

    @property
    def dimension(self):
        """Number of components of each vector."""
        return self.table.dimension

    @property
    def nbytes(self):
        """Bytes held for vectors, codes and rows; the vectors may be shared with other tables."""
        per_node = self.table.dimension * 4 + self.table.width + 8
        return int(self.table.count * per_node + self.row_node.nbytes)

    def vectors(self, int64_t begin, int64_t end):
        """A copy of the vectors [begin, end), float32[end - begin, d]."""
        if not 0 <= begin <= end <= self.table.count:
            raise VectorError(f"vectors [{begin}, {end}) of {self.table.count} do not exist")
        cdef size_t dimension = self.table.dimension
        copied = NewArray[float](end - begin, dimension)
        cdef int64_t i
        with nogil:
            for i in range(end - begin):
                memcpy(copied.data() + i * dimension, self.table.vector(<int32_t>(begin + i)), dimension * sizeof(float))
        return copied.object()

    def search(self, query, k, *, tie_rank, eligible=None, rows=None, kernel=None):
        """The k rows nearest to `query` (float32[d], unit length) by inner product, best first.

        `eligible` (uint8[n_rows], 0: leave out) and `rows` (int32, each at most once: only these) narrow the
        search. Equal scores are ordered by `tie_rank` (int32[n_rows], ascending).

        :return: int32[h] rows and float64[h] scores, h <= k.
        :raises VectorError: an array of the wrong dtype, shape or dimension, or a query that is not finite.
        """
        queries = checked_array(query, "query", np.float32, 1)[np.newaxis]
        return self.run(queries, k, tie_rank, [eligible], rows, kernel)[0]

    def search_many(self, queries, k, *, tie_rank, eligible=None):
        """`search` for each of `queries` (float32[q, d]); `eligible` is one array for all, or one for each.

        One pass over the vectors serves all queries; the GIL is released throughout.
        """
        n = len(queries)
        if eligible is None or getattr(eligible, "ndim", 2) == 1:
            eligible = [eligible] * n
        if len(eligible) != n:
            raise VectorError(f"{len(eligible)} eligibility arrays for {n} queries")
        return self.run(queries, k, tie_rank, eligible, None, None)

    def products(self, query, rows):
        """Inner products of `query` (float32[d], of any length) with the vectors of `rows` (int32[m]).

        :return: float64[m], equal to the scores of `search` to the last bit; NaN where a row has no vector.
        :raises VectorError: an array of the wrong dtype, shape or dimension, or a row that is not there.
        """
        asked = Array[float](checked_array(query, "query", np.float32, 1), "query")
        if asked.size() != <Py_ssize_t>self.table.dimension:
            raise VectorError(f"query has dimension {asked.size()}, the index {self.table.dimension}")
        chosen = Array[int32_t](self.some_rows(rows), "rows")
        row_node = Array[int32_t](self.row_node, "row_node")
        cdef const Kernel* kernel = best_kernel()
        found = NewArray[double](chosen.size())
        found.fill(NAN)
        cdef Py_ssize_t i
        cdef int32_t node
        with nogil:
            for i in range(chosen.size()):
                node = row_node[chosen[i]]
                if node >= 0:
                    found[i] = kernel.score(asked.data(), self.table.vector(node), self.table.dimension)
        return found.object()

    cdef list run(self, queries, k, tie_rank, eligible, rows, kernel):
        asked = Matrix[float](checked_vectors(queries, "query", self.dimension), "query")
        row_node = Array[int32_t](self.row_node, "row_node")
        ties = Array[int32_t](self.per_row(tie_rank, "tie_rank", np.int32), "tie_rank")
        cdef Array[int32_t] chosen_rows
        if rows is not None:
            chosen_rows = Array[int32_t](self.some_rows(rows), "rows")
        flags = [None if each is None else self.per_row(each, "eligible", np.uint8) for each in eligible]
        cdef const Kernel* chosen = &supported_kernels().list[kernel_index(kernel)]
        if k < 0:
            raise VectorError(f"k must not be negative, but is {k}")
        cdef int64_t count = row_node.size() if rows is None else chosen_rows.size()
        cdef int64_t most = min(k, count)
        if most == 0 or not flags:
            return [(np.empty(0, np.int32), np.empty(0, np.float64)) for _ in flags]
        cdef vector[const uint8_t*] flag_pointers
        for each in flags:
            flag_pointers.push_back(first_flag(each))
        cdef Rows what
        what.row_node, what.tie_rank = row_node.data(), ties.data()
        what.rows = chosen_rows.data()  # null where there are none
        what.count = count
        cdef vector[vector[Hit]] found
        with nogil:
            found = search_many(self.table, what, flag_pointers, asked.data(), most, chosen[0])
        return [hit_arrays(found[i]) for i in range(len(flags))]

    cdef per_row(self, value, name, dtype):
        array = checked_array(value, name, dtype, 1)
        if array.shape[0] != len(self.row_node):
            raise VectorError(f"{name} has {array.shape[0]} entries for {len(self.row_node)} rows")
        return array

    cdef some_rows(self, value):
        array = checked_array(value, "rows", np.int32, 1)
        if array.size and (array.min() < 0 or array.max() >= len(self.row_node)):
            raise VectorError(f"rows must be between 0 and {len(self.row_node) - 1}")
        return array


cdef const uint8_t* first_flag(flags) except? NULL:
    """Where an eligibility array begins. The caller keeps the array alive."""
    if flags is None:
        return NULL
    return Array[uint8_t](flags, "eligible").data()
