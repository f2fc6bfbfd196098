// Where vectors live: append-only segments shared by every table that has a prefix of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "pages.hpp"
#include "vectors_kernel.hpp"

namespace pi_vectors {

constexpr int32_t SEGMENT_ROWS = 8192;  // vectors in one allocation: an append never copies more than this
constexpr int CODE_MAX = 127;

// Vectors in one allocation, filled from the front. Whoever moves `used` forward owns the places in between.
struct Segment {
    Segment(size_t dimension, size_t width)
        : codes(SEGMENT_ROWS * width),
          scales(new float[SEGMENT_ROWS]),
          errors(new float[SEGMENT_ROWS]),
          vectors(SEGMENT_ROWS * dimension) {}
    Pages<int8_t> codes;               // [SEGMENT_ROWS, width], zero past the dimension
    std::unique_ptr<float[]> scales;   // x is about scale * code
    std::unique_ptr<float[]> errors;   // |x - scale * code|, rounded up
    Pages<float> vectors;              // [SEGMENT_ROWS, dimension]
    std::atomic<int32_t> used{0};
};

// An immutable prefix of shared segments.
struct Table {
    size_t dimension = 0;
    size_t width = 0;  // dimension rounded up to whole kernel steps
    int32_t count = 0;
    std::vector<std::shared_ptr<Segment>> segments;

    const int8_t* codes(int32_t node) const {
        return segments[node / SEGMENT_ROWS]->codes.get() + size_t(node % SEGMENT_ROWS) * width;
    }

    float scale(int32_t node) const { return segments[node / SEGMENT_ROWS]->scales[node % SEGMENT_ROWS]; }

    const float* vector(int32_t node) const {
        return segments[node / SEGMENT_ROWS]->vectors.get() + size_t(node % SEGMENT_ROWS) * dimension;
    }
};

// The rows of a search: all of [0, count), or `rows[0, count)`; of those, the eligible ones that have a vector.
struct Rows {
    const int32_t* row_node;  // row -> node, -1 without a vector
    const uint8_t* eligible;  // null: all
    const int32_t* rows;      // null: all
    const int32_t* tie_rank;
    int64_t count;
};

// Writes the codes of one vector. Rounding may differ between machines by one step: `error` is measured, so
// that the bounds hold and the hits do not change.
inline void encode(const float* x, size_t dimension, int8_t* codes, float* scale, float* error) {
    float peak = 0.0f;
    for (size_t i = 0; i < dimension; ++i) peak = std::max(peak, std::fabs(x[i]));
    *scale = std::max(peak / float(CODE_MAX), 1e-30f);
    for (size_t i = 0; i < dimension; ++i) {
        const float v = x[i] / *scale;
        const int code = int(v < 0.0f ? v - 0.5f : v + 0.5f);
        codes[i] = int8_t(std::min(std::max(code, -CODE_MAX), CODE_MAX));
    }
    double squares = 0.0;
    for (size_t i = 0; i < dimension; ++i) {
        const double lost = double(x[i]) - double(*scale) * codes[i];
        squares += lost * lost;
    }
    *error = std::nextafter(float(std::sqrt(squares) * (1.0 + 1e-6)), std::numeric_limits<float>::max());
}

inline std::shared_ptr<Segment> copied_segment(const Segment& old, int32_t used, const Table& table) {
    auto copy = std::make_shared<Segment>(table.dimension, table.width);
    std::copy_n(old.codes.get(), used * table.width, copy->codes.get());
    std::copy_n(old.scales.get(), used, copy->scales.get());
    std::copy_n(old.errors.get(), used, copy->errors.get());
    std::copy_n(old.vectors.get(), used * table.dimension, copy->vectors.get());
    return copy;
}

// `table` with n more vectors. The places behind its end are taken in the shared last segment, unless another
// table has taken them already: then that segment's own part is copied first.
inline Table appended(const Table& table, const float* vectors, int64_t n) {
    Table next = table;
    for (int64_t done = 0; done < n;) {
        const int32_t place = next.count % SEGMENT_ROWS;
        const int32_t take = int32_t(std::min<int64_t>(n - done, SEGMENT_ROWS - place));
        if (place == 0) next.segments.push_back(std::make_shared<Segment>(next.dimension, next.width));
        int32_t expected = place;
        if (!next.segments.back()->used.compare_exchange_strong(expected, place + take)) {
            next.segments.back() = copied_segment(*next.segments.back(), place, next);
            next.segments.back()->used = place + take;
        }
        Segment& segment = *next.segments.back();
        for (int32_t i = place; i < place + take; ++i, ++done) {
            float* kept = segment.vectors.get() + size_t(i) * next.dimension;
            std::copy_n(vectors + size_t(done) * next.dimension, next.dimension, kept);
            encode(kept, next.dimension, segment.codes.get() + size_t(i) * next.width, &segment.scales[i],
                   &segment.errors[i]);
        }
        next.count += take;
    }
    return next;
}

}  // namespace pi_vectors
