"""The term dictionary (terms.hpp)."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "kernels/terms.hpp" namespace "pi_rank" nogil:
    cdef cppclass Terms:
        const int32_t* slots
        int64_t n_slots
        const int64_t* ends
        const uint8_t* blob
        int32_t find(const uint8_t* text, int64_t length)
