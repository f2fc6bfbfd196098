// The inner loops over vectors as those see them who only call them (vectors_kernels.hpp has them).
#pragma once

#include <cstddef>
#include <cstdint>

namespace pi_vectors {

constexpr size_t STEP = 32;  // code widths are multiples of this

struct Kernel {
    const char* name;
    // out[i] = sum over j of rows[i][j] * query[j]; the caller keeps the sum of absolute values below 2^31.
    void (*dot_rows)(const int8_t* const* rows, size_t count, const int16_t* query, size_t width, int32_t* out);
    double (*score)(const float* a, const float* b, size_t dimension);
    // sums[j] += x[j]
    void (*add)(double* sums, const float* x, size_t dimension);
};

}  // namespace pi_vectors
