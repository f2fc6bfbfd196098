// The encoder with AVX2. Codes have 16 bits there, so that no sum of two products saturates.
#pragma once

#include <immintrin.h>

#include "encoder/lanes.hpp"
#include "encoder/model.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace pi_encoder {
namespace avx2 {

typedef Pair<Floats8> Floats;
typedef Pair<Ints8> Ints;
typedef int16_t Code;
constexpr int TILE_ROWS = 4, TILE_OUTPUTS = LANES;
constexpr int QUERIES = 2;

#include "encoder/arithmetic.inc"

PI_ENCODER_INLINE void store_codes(Code* at, const Ints& codes) {
    const __m256i low = (__m256i)codes.low, high = (__m256i)codes.high;
    const __m256i packed = _mm256_packus_epi32(low, high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_permute4x64_epi64(packed, 0xd8));
}

// Four outputs' worth of a line, as 16 bits.
PI_ENCODER_INLINE __m256i widened(const int8_t* weights) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
}

PI_ENCODER_INLINE __m256i four_codes(const Code* at) {
    long long four;
    std::memcpy(&four, at, 8);
    return _mm256_set1_epi64x(four);
}

// The sums of one row over 8 outputs: of each, one over inputs 0 and 1 of four and one over inputs 2 and 3.
struct RowSums {
    __m256i a, b;

    PI_ENCODER_INLINE void add(const Code* codes, __m256i low, __m256i high) {
        const __m256i code = four_codes(codes);
        a = _mm256_add_epi32(a, _mm256_madd_epi16(low, code));
        b = _mm256_add_epi32(b, _mm256_madd_epi16(high, code));
    }

    PI_ENCODER_INLINE void store(int32_t* at) const {
        const __m256i both = _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), both);
    }
};

template <int ROWS>
PI_ENCODER_INLINE void tile(const Code* codes, size_t in, const int8_t* weights, int32_t* sums) {
    const __m256i none = _mm256_setzero_si256();
    for (int half = 0; half < TILE_OUTPUTS; half += 8) {
        RowSums r0 = {none, none}, r1 = r0, r2 = r0, r3 = r0;
        const int8_t* line = weights + 4 * half;
        for (size_t i = 0; i < in; i += 4, line += OUTPUTS * 4) {
            const __m256i low = widened(line), high = widened(line + 16);
            r0.add(codes + i, low, high);
            if (ROWS > 1) r1.add(codes + in + i, low, high);
            if (ROWS > 2) r2.add(codes + 2 * in + i, low, high);
            if (ROWS > 3) r3.add(codes + 3 * in + i, low, high);
        }
        r0.store(sums + half);
        if (ROWS > 1) r1.store(sums + TILE_OUTPUTS + half);
        if (ROWS > 2) r2.store(sums + 2 * TILE_OUTPUTS + half);
        if (ROWS > 3) r3.store(sums + 3 * TILE_OUTPUTS + half);
    }
}

#include "encoder/tiles.inc"
#include "encoder/layers.inc"

}  // namespace avx2
}  // namespace pi_encoder

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
