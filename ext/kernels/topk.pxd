"""A scored row, its place in a ranking, and the k best of many (hit.hpp)."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector


cdef extern from "kernels/hit.hpp" namespace "pi_rank" nogil:
    cdef cppclass Hit:
        double score
        int32_t tie
        int32_t row
        bint operator<(const Hit&) nogil

    void finish(vector[Hit]& hits, size_t k)

    cdef cppclass KeptHits:
        vector[Hit] hits
        size_t count
        size_t k
        Hit bar
        KeptHits()
        KeptHits(size_t k, size_t n_rows) except +
        void make_room()
        vector[Hit]& best() except +

cdef extern from "kernels/hit_arrays.hpp" namespace "pi_rank":
    tuple hit_arrays(const vector[Hit]& hits)
