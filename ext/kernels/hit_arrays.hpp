// Hits as Python gets them.
#pragma once

#include <vector>

#include "array.hpp"
#include "hit.hpp"

namespace pi_rank {

// (int32 rows, float64 scores) in the order of `hits`.
inline PyObject* hit_arrays(const std::vector<Hit>& hits) {
    npy_intp shape[] = {npy_intp(hits.size())};
    const Reference rows(PyArray_EMPTY(1, shape, NPY_INT32, 0)), scores(PyArray_EMPTY(1, shape, NPY_FLOAT64, 0));
    if (rows.array() == nullptr || scores.array() == nullptr) return nullptr;
    auto* row = static_cast<int32_t*>(PyArray_DATA(rows.array()));
    auto* score = static_cast<double*>(PyArray_DATA(scores.array()));
    for (const Hit& hit : hits) {
        *row++ = hit.row;
        *score++ = hit.score;
    }
    return PyTuple_Pack(2, rows.array(), scores.array());
}

}  // namespace pi_rank
