"""What other compiled modules may use of the vector table, and the C++ underneath it (ext/kernels/vectors*.hpp)."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport Matrix
from topk cimport Hit


cdef extern from "kernels/vectors_table.hpp" namespace "pi_vectors" nogil:
    cdef cppclass Table:
        size_t dimension
        size_t width
        int32_t count
        const float* vector(int32_t node)

    cdef cppclass Rows:
        const int32_t* row_node
        const uint8_t* eligible
        const int32_t* rows
        const int32_t* tie_rank
        int64_t count

    cdef cppclass Kernel:
        const char* name
        void dot_rows(const int8_t* const* rows, size_t count, const int16_t* query, size_t width, int32_t* out)
        double score(const float* a, const float* b, size_t dimension)
        void add(double* sums, const float* x, size_t dimension)


# The kernel that suits this processor best.
cdef const Kernel* best_kernel() noexcept nogil

# The k nearest of some rows, best first.
cdef int nearest_rows(
    const Table& table, const Rows& rows, const float* query, int64_t k, vector[Hit]& found
) except -1 nogil

cdef const uint8_t* first_flag(flags) except? NULL


cdef class VectorTable:
    cdef Table table
    cdef readonly object row_node  # int32[n_rows], read-only

    cdef int fill(self, const Matrix[float]& vectors) except -1
    cdef int set_rows(self, row_node) except -1
    cdef list run(self, queries, k, tie_rank, eligible, rows, kernel)
    cdef per_row(self, value, name, dtype)
    cdef some_rows(self, value)
