"""numpy's arrays as the kernels read and make them (array.hpp). Who cimports this calls import_numpy()."""

from libc.stdint cimport uint8_t
from libcpp.vector cimport vector


cdef extern from "kernels/array.hpp" namespace "pi_rank":
    int import_numpy() except -1

    cdef cppclass Array[T]:
        Array()
        Array(object, const char* name) except +
        const T* data() nogil
        Py_ssize_t size() nogil
        T operator[](Py_ssize_t) nogil
        vector[T] copy() except +

    cdef cppclass Matrix[T]:
        Matrix()
        Matrix(object, const char* name) except +
        const T* data() nogil
        Py_ssize_t rows() nogil
        Py_ssize_t columns() nogil
        const T* operator[](Py_ssize_t) nogil

    cdef cppclass NewArray[T]:
        NewArray()
        NewArray(Py_ssize_t) except +
        NewArray(Py_ssize_t, Py_ssize_t) except +
        T* data() nogil
        T& operator[](Py_ssize_t) nogil
        void fill(T) nogil
        object object()

    cdef cppclass Buffer:
        Buffer()
        Buffer(object) except +
        const uint8_t* data() nogil
        size_t size() nogil

    object array_of[T](const vector[T]&)
