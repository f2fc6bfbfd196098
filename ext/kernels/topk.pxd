"""A scored row, its place in a ranking, and the k best of many (hit.hpp)."""

cimport numpy as cnp
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


cdef inline tuple hit_arrays(const vector[Hit]& hits):
    """(int32 rows, float64 scores) in the order of `hits`."""
    cdef cnp.npy_intp n = hits.size()
    rows_array = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT32, 0)
    scores_array = cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT64, 0)
    cdef int32_t* rows = <int32_t*>cnp.PyArray_DATA(rows_array)
    cdef double* scores = <double*>cnp.PyArray_DATA(scores_array)
    cdef cnp.npy_intp i
    for i in range(n):
        rows[i] = hits[i].row
        scores[i] = hits[i].score
    return rows_array, scores_array
