"""What other compiled modules may use of BM25."""

from libc.stdint cimport int32_t, int64_t


cdef double score_into(
    tuple segments, tuple terms, int64_t live_rows, const int32_t* rows, Py_ssize_t n_rows,
    double* scores, double* coverage,
) except -1
