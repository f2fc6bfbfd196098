"""A scored row, its place in a ranking, and the k best of many."""

cimport numpy as cnp
from libc.stdint cimport int32_t
from libcpp.algorithm cimport nth_element, sort
from libcpp.vector cimport vector


cdef extern from *:
    """
    #include <cstdint>
    #ifndef PI_RANK_HIT
    #define PI_RANK_HIT
    struct Hit {
        double score;
        int32_t tie;
        int32_t row;
        // "Ranks before": higher score first, equal scores by ascending tie rank. An operator rather than a
        // comparison passed by pointer, so that the standard algorithms inline it.
        bool operator<(const Hit& other) const {
            if (score != other.score) return score > other.score;
            if (tie != other.tie) return tie < other.tie;
            return row < other.row;
        }
    };
    #endif
    """
    cdef cppclass Hit:
        double score
        int32_t tie
        int32_t row
        bint operator<(const Hit&) nogil


cdef inline void finish(vector[Hit]& hits, size_t k) noexcept nogil:
    """Leave the k best, best first."""
    if k < hits.size():
        nth_element(hits.begin(), hits.begin() + k, hits.end())
        hits.resize(k)
    sort(hits.begin(), hits.end())


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
