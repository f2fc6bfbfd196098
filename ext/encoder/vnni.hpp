// The encoder with the instruction of AVX-512 that adds four products of bytes to each of sixteen sums.
#pragma once

#include <immintrin.h>

#include "encoder/lanes.hpp"
#include "encoder/model.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2")
#endif

namespace pi_encoder {
namespace vnni {

typedef Floats16 Floats;
typedef Ints16 Ints;
typedef uint8_t Code;
constexpr int TILE_ROWS = 6, TILE_OUTPUTS = OUTPUTS;
constexpr int QUERIES = 4;

#include "encoder/arithmetic.inc"

// By name, because GCC 12 copies each sum before it adds to it, and runs out of registers.
PI_ENCODER_INLINE void add_products(__m512i& sums, __m512i codes, __m512i weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(weights));
}

PI_ENCODER_INLINE void store_codes(Code* at, const Ints& codes) {
    __m512i wide;
    std::memcpy(&wide, &codes, sizeof wide);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(wide));
}

// The sums of one row over 64 outputs. Six rows of these are named one by one in `tile`, since GCC 12 keeps an array
// of them in memory.
struct RowSums {
    __m512i a, b, c, d;

    PI_ENCODER_INLINE void add(const Code* codes, const __m512i (&line)[4]) {
        int four;
        std::memcpy(&four, codes, 4);
        const __m512i code = _mm512_set1_epi32(four);
        add_products(a, code, line[0]);
        add_products(b, code, line[1]);
        add_products(c, code, line[2]);
        add_products(d, code, line[3]);
    }

    PI_ENCODER_INLINE void store(int32_t* at) const {
        _mm512_store_si512(at, a);
        _mm512_store_si512(at + 16, b);
        _mm512_store_si512(at + 32, c);
        _mm512_store_si512(at + 48, d);
    }
};

template <int ROWS>
PI_ENCODER_INLINE void tile(const Code* codes, size_t in, const int8_t* weights, int32_t* sums) {
    const __m512i none = _mm512_setzero_si512();
    RowSums r0 = {none, none, none, none}, r1 = r0, r2 = r0, r3 = r0, r4 = r0, r5 = r0;
    for (size_t i = 0; i < in; i += 4, weights += OUTPUTS * 4) {
        const __m512i line[4] = {_mm512_loadu_si512(weights), _mm512_loadu_si512(weights + 64),
                                 _mm512_loadu_si512(weights + 128), _mm512_loadu_si512(weights + 192)};
        if (ROWS > 0) {
            const char* ahead = reinterpret_cast<const char*>(weights + OUTPUTS * in);
            _mm_prefetch(ahead, _MM_HINT_T1);
            _mm_prefetch(ahead + 64, _MM_HINT_T1);
            _mm_prefetch(ahead + 128, _MM_HINT_T1);
            _mm_prefetch(ahead + 192, _MM_HINT_T1);
        }
        r0.add(codes + i, line);
        if (ROWS > 1) r1.add(codes + in + i, line);
        if (ROWS > 2) r2.add(codes + 2 * in + i, line);
        if (ROWS > 3) r3.add(codes + 3 * in + i, line);
        if (ROWS > 4) r4.add(codes + 4 * in + i, line);
        if (ROWS > 5) r5.add(codes + 5 * in + i, line);
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

}  // namespace vnni
}  // namespace pi_encoder

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
