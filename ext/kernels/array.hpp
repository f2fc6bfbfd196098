// numpy's arrays as C++ reads and makes them. A module calls import_numpy() before its first.
#pragma once

#include <Python.h>
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace pi_rank {

// Lets the module use numpy's functions; -1, and an exception set, where there is no numpy.
inline int import_numpy() { return PyArray_API == nullptr ? _import_array() : 0; }

// Thrown where a Python exception is set: Cython passes that one on.
struct PythonError {};

// numpy's number of an element type.
template <class T> struct Dtype;
template <> struct Dtype<uint8_t> { static constexpr int number = NPY_UINT8; };
template <> struct Dtype<int32_t> { static constexpr int number = NPY_INT32; };
template <> struct Dtype<int64_t> { static constexpr int number = NPY_INT64; };
template <> struct Dtype<float> { static constexpr int number = NPY_FLOAT32; };
template <> struct Dtype<double> { static constexpr int number = NPY_FLOAT64; };

// A reference to a Python object. Made, copied and dropped by who holds the GIL; what it holds is read without.
class Reference {
public:
    Reference() = default;
    explicit Reference(PyObject* taken) : object_(taken) {}
    Reference(const Reference& other) : object_(other.object_) { Py_XINCREF(object_); }
    Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference& operator=(Reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Reference() { Py_XDECREF(object_); }

    PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object_); }

    // A reference of the caller's own.
    PyObject* shared() const {
        Py_XINCREF(object_);
        return object_;
    }

private:
    PyObject* object_ = nullptr;
};

// A sentence about `object`, the exception of it set.
[[noreturn]] inline void refuse(PyObject* object, const char* name, int number, int dimensions) {
    PyObject* wanted = reinterpret_cast<PyObject*>(PyArray_DescrFromType(number));
    if (wanted != nullptr && !PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be a numpy array of %S, not %s", name, wanted,
                     Py_TYPE(object)->tp_name);
    } else if (wanted != nullptr) {
        auto* array = reinterpret_cast<PyArrayObject*>(object);
        PyErr_Format(PyExc_ValueError, "%s must be a contiguous array of %S with %d dimension(s), not %s%S with %d",
                     name, wanted, dimensions, PyArray_IS_C_CONTIGUOUS(array) ? "" : "a strided one of ",
                     PyArray_DESCR(array), PyArray_NDIM(array));
    }
    Py_XDECREF(wanted);
    throw PythonError();
}

// `object` as an array to be read as it lies: of this dtype (bool is read as uint8) and number of dimensions, in the
// processor's byte order, its elements one after another. TypeError or ValueError where it is none.
inline Reference checked(PyObject* object, const char* name, int number, int dimensions) {
    if (!PyArray_Check(object)) refuse(object, name, number, dimensions);
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const int theirs = PyArray_TYPE(array);
    const bool same = PyArray_EquivTypenums(theirs, number) || (number == NPY_UINT8 && theirs == NPY_BOOL);
    if (!same || PyArray_NDIM(array) != dimensions || !PyArray_ISCARRAY_RO(array))
        refuse(object, name, number, dimensions);
    Py_INCREF(object);
    return Reference(object);
}

// An array of one dimension that is only read, held as long as this is.
template <class T> class Array {
public:
    Array() = default;
    Array(PyObject* object, const char* name)
        : held_(checked(object, name, Dtype<T>::number, 1)),
          data_(static_cast<const T*>(PyArray_DATA(held_.array()))),
          size_(PyArray_DIM(held_.array(), 0)) {}

    const T* data() const { return data_; }
    Py_ssize_t size() const { return size_; }
    const T& operator[](Py_ssize_t at) const { return data_[at]; }
    std::vector<T> copy() const { return std::vector<T>(data_, data_ + size_); }

private:
    Reference held_;
    const T* data_ = nullptr;
    Py_ssize_t size_ = 0;
};

// The same of two dimensions.
template <class T> class Matrix {
public:
    Matrix() = default;
    Matrix(PyObject* object, const char* name)
        : held_(checked(object, name, Dtype<T>::number, 2)),
          data_(static_cast<const T*>(PyArray_DATA(held_.array()))),
          rows_(PyArray_DIM(held_.array(), 0)),
          columns_(PyArray_DIM(held_.array(), 1)) {}

    const T* data() const { return data_; }
    Py_ssize_t rows() const { return rows_; }
    Py_ssize_t columns() const { return columns_; }
    const T* operator[](Py_ssize_t row) const { return data_ + row * columns_; }

private:
    Reference held_;
    const T* data_ = nullptr;
    Py_ssize_t rows_ = 0, columns_ = 0;
};

// The bytes of any object that lends them, such as a mapped file, borrowed as long as this is.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(PyObject* object) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) != 0) throw PythonError();
    }
    Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, {})) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(view_, other.view_);
        return *this;
    }
    ~Buffer() { PyBuffer_Release(&view_); }

    const uint8_t* data() const { return static_cast<const uint8_t*>(view_.buf); }
    size_t size() const { return size_t(view_.len); }

private:
    Py_buffer view_ = {};
};

// An array to be written, and then given to Python.
template <class T> class NewArray {
public:
    NewArray() = default;
    explicit NewArray(npy_intp size) : NewArray(1, {size, 0}) {}
    NewArray(npy_intp rows, npy_intp columns) : NewArray(2, {rows, columns}) {}

    T* data() const { return data_; }
    T& operator[](Py_ssize_t at) const { return data_[at]; }
    void fill(T value) { std::fill_n(data_, PyArray_SIZE(held_.array()), value); }
    PyObject* object() const { return held_.shared(); }

private:
    NewArray(int dimensions, std::array<npy_intp, 2> shape)
        : held_(PyArray_EMPTY(dimensions, shape.data(), Dtype<T>::number, 0)) {
        if (held_.array() == nullptr) throw PythonError();
        data_ = static_cast<T*>(PyArray_DATA(held_.array()));
    }

    Reference held_;
    T* data_ = nullptr;
};

// The values in an array of Python's.
template <class T> PyObject* array_of(const std::vector<T>& values) {
    npy_intp shape[] = {npy_intp(values.size())};
    PyObject* array = PyArray_EMPTY(1, shape, Dtype<T>::number, 0);
    if (array != nullptr && !values.empty())
        std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), values.data(), values.size() * sizeof(T));
    return array;
}

}  // namespace pi_rank
