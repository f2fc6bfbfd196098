// A query as int16 codes, with what is lost by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "vectors_table.hpp"

namespace pi_vectors {

// query = step * code + rest. `norm` is |step * code| and `error` bounds |rest| |x| for a vector x of unit length,
// both with the rounding of these few float64 steps.
struct EncodedQuery {
    std::vector<int16_t> codes;
    double step, norm, error;

    EncodedQuery(const float* query, size_t dimension, size_t width) : codes(width, 0) {
        // The sum of |code * code| over a row stays below 2^31.
        const int64_t top = std::min<int64_t>(32767, INT32_MAX / (int64_t(CODE_MAX) * int64_t(width)));
        double peak = 0.0;
        for (size_t i = 0; i < dimension; ++i) peak = std::max(peak, std::fabs(double(query[i])));
        step = std::max(peak / double(top), 1e-30);
        double lost = 0.0, kept = 0.0;
        for (size_t i = 0; i < dimension; ++i) {
            codes[i] = int16_t(std::lround(query[i] / step));
            const double value = step * codes[i];
            kept += value * value;
            lost += (query[i] - value) * (query[i] - value);
        }
        norm = std::sqrt(kept) * (1.0 + 1e-9);
        error = std::sqrt(lost) * 1.01 + 1e-9;  // 1.01: a "unit" vector may be a little longer
    }
};

}  // namespace pi_vectors
