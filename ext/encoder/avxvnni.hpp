// The encoder with the same instruction as vnni.hpp on registers of half the size, as processors without AVX-512 have it.
#pragma once

#include <immintrin.h>

#include "encoder/lanes.hpp"
#include "encoder/model.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,avxvnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,avxvnni")
#endif

namespace pi_encoder {
namespace avxvnni {

typedef Pair<Floats8> Floats;
typedef Pair<Ints8> Ints;
typedef uint8_t Code;
constexpr int TILE_ROWS = 6, TILE_OUTPUTS = LANES;
constexpr int QUERIES = 2;

#include "encoder/arithmetic.inc"

// By name, as in vnni.hpp.
PI_ENCODER_INLINE void add_products(__m256i& sums, __m256i codes, __m256i weights) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(codes), "x"(weights));
}

PI_ENCODER_INLINE void store_codes(Code* at, const Ints& codes) {
    const __m256i low = (__m256i)codes.low, high = (__m256i)codes.high;
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), bytes);
}

PI_ENCODER_INLINE __m256i line_half(const int8_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// The sums of one row over 16 outputs.
struct RowSums {
    __m256i a, b;

    PI_ENCODER_INLINE void add(const Code* codes, __m256i low, __m256i high) {
        int four;
        std::memcpy(&four, codes, 4);
        const __m256i code = _mm256_set1_epi32(four);
        add_products(a, code, low);
        add_products(b, code, high);
    }

    PI_ENCODER_INLINE void store(int32_t* at) const {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), a);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + 8), b);
    }
};

template <int ROWS>
PI_ENCODER_INLINE void tile(const Code* codes, size_t in, const int8_t* weights, int32_t* sums) {
    const __m256i none = _mm256_setzero_si256();
    RowSums r0 = {none, none}, r1 = r0, r2 = r0, r3 = r0, r4 = r0, r5 = r0;
    for (size_t i = 0; i < in; i += 4, weights += OUTPUTS * 4) {
        const __m256i low = line_half(weights), high = line_half(weights + 32);
        r0.add(codes + i, low, high);
        if (ROWS > 1) r1.add(codes + in + i, low, high);
        if (ROWS > 2) r2.add(codes + 2 * in + i, low, high);
        if (ROWS > 3) r3.add(codes + 3 * in + i, low, high);
        if (ROWS > 4) r4.add(codes + 4 * in + i, low, high);
        if (ROWS > 5) r5.add(codes + 5 * in + i, low, high);
    }
    r0.store(sums);
    if (ROWS > 1) r1.store(sums + TILE_OUTPUTS);
    if (ROWS > 2) r2.store(sums + 2 * TILE_OUTPUTS);
    if (ROWS > 3) r3.store(sums + 3 * TILE_OUTPUTS);
    if (ROWS > 4) r4.store(sums + 4 * TILE_OUTPUTS);
    if (ROWS > 5) r5.store(sums + 5 * TILE_OUTPUTS);
}

#include "encoder/tiles.inc"
#include "encoder/layers.inc"

}  // namespace avxvnni
}  // namespace pi_encoder

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
