"""Numpy arrays of C++ vectors. Who cimports this calls import_array()."""

cimport numpy as cnp
from libc.stdint cimport int32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector


cdef inline object int_array(const vector[int32_t]& values):
    cdef cnp.npy_intp n = values.size()
    array = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT32, 0)
    if n:
        memcpy(cnp.PyArray_DATA(array), values.data(), n * sizeof(int32_t))
    return array


cdef inline object double_array(const vector[double]& values):
    cdef cnp.npy_intp n = values.size()
    array = cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT64, 0)
    if n:
        memcpy(cnp.PyArray_DATA(array), values.data(), n * sizeof(double))
    return array
