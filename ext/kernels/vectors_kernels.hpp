// The inner loops over vectors, for each instruction set, chosen at run time.
//
// All of them give the same bits. Integer products are exact. A float64 sum of float32 products is taken in
// LANES lanes of fixed order, so many that no addition waits for the one before; each product is exact in float64
// (24 + 24 bits), so that a fused multiply-add changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectors_kernel.hpp"

// Where the compiler can build one function for a newer processor than the rest, and ask which one it runs on.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PI_VECTORS_X86 1
#include <immintrin.h>
#endif

#if defined(_MSC_VER)
#define PI_ALWAYS_INLINE __forceinline
#else
#define PI_ALWAYS_INLINE inline __attribute__((always_inline))
#endif

namespace pi_vectors {

constexpr size_t LANES = 16;

PI_ALWAYS_INLINE double score_in_lanes(const float* a, const float* b, size_t dimension) {
    double lane[LANES] = {};
    size_t i = 0;
    for (; i + LANES <= dimension; i += LANES)
        for (size_t j = 0; j < LANES; ++j) lane[j] += double(a[i + j]) * double(b[i + j]);
    for (size_t j = 0; i < dimension; ++i, ++j) lane[j] += double(a[i]) * double(b[i]);
    for (size_t j = 0; j < LANES / 2; ++j) lane[j] += lane[j + LANES / 2];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

inline void dot_rows_plain(const int8_t* const* rows, size_t count, const int16_t* query, size_t width,
                           int32_t* out) {
    for (size_t r = 0; r < count; ++r) {
        int32_t sum = 0;
        for (size_t i = 0; i < width; ++i) sum += int32_t(query[i]) * int32_t(rows[r][i]);
        out[r] = sum;
    }
}

PI_ALWAYS_INLINE void add_in_order(double* sums, const float* x, size_t dimension) {
    for (size_t j = 0; j < dimension; ++j) sums[j] += double(x[j]);
}

inline double score_plain(const float* a, const float* b, size_t dimension) {
    return score_in_lanes(a, b, dimension);
}

inline void add_plain(double* sums, const float* x, size_t dimension) { add_in_order(sums, x, dimension); }

#ifdef PI_VECTORS_X86

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // GCC 12 warns about its own header: _mm512_reduce_add_epi32 (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define PI_AVX2 __attribute__((target("avx2,fma")))
#define PI_AVX512 __attribute__((target("avx512f,avx512bw")))

PI_AVX2 inline int32_t sum_avx2(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return _mm_cvtsi128_si32(s);
}

PI_AVX2 inline __m256i step_avx2(__m256i sum, const int8_t* x, const int16_t* query) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(codes), q));
}

PI_AVX2 inline void dot_rows_avx2(const int8_t* const* rows, size_t count, const int16_t* query, size_t width,
                                  int32_t* out) {
    for (size_t r = 0; r < count; ++r) {
        __m256i low = _mm256_setzero_si256(), high = low;
        for (size_t i = 0; i < width; i += STEP) {
            low = step_avx2(low, rows[r] + i, query + i);
            high = step_avx2(high, rows[r] + i + 16, query + i + 16);
        }
        out[r] = sum_avx2(_mm256_add_epi32(low, high));
    }
}

PI_AVX2 inline double score_avx2(const float* a, const float* b, size_t dimension) {
    return score_in_lanes(a, b, dimension);
}

PI_AVX2 inline void add_avx2(double* sums, const float* x, size_t dimension) {
    add_in_order(sums, x, dimension);
}

PI_AVX512 inline __m512i step_avx512(__m512i sum, const int8_t* x, __m512i query) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_cvtepi8_epi16(codes), query));
}

PI_AVX512 inline void dot_rows_avx512(const int8_t* const* rows, size_t count, const int16_t* query,
                                      size_t width, int32_t* out) {
    size_t r = 0;
    for (; r + 4 <= count; r += 4) {  // four rows share each load of the query
        __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
        for (size_t i = 0; i < width; i += STEP) {
            const __m512i q = _mm512_loadu_si512(query + i);
            s0 = step_avx512(s0, rows[r] + i, q);
            s1 = step_avx512(s1, rows[r + 1] + i, q);
            s2 = step_avx512(s2, rows[r + 2] + i, q);
            s3 = step_avx512(s3, rows[r + 3] + i, q);
        }
        out[r] = _mm512_reduce_add_epi32(s0);
        out[r + 1] = _mm512_reduce_add_epi32(s1);
        out[r + 2] = _mm512_reduce_add_epi32(s2);
        out[r + 3] = _mm512_reduce_add_epi32(s3);
    }
    for (; r < count; ++r) {
        __m512i sum = _mm512_setzero_si512();
        for (size_t i = 0; i < width; i += STEP)
            sum = step_avx512(sum, rows[r] + i, _mm512_loadu_si512(query + i));
        out[r] = _mm512_reduce_add_epi32(sum);
    }
}

PI_AVX512 inline double score_avx512(const float* a, const float* b, size_t dimension) {
    return score_in_lanes(a, b, dimension);
}

PI_AVX512 inline void add_avx512(double* sums, const float* x, size_t dimension) {
    add_in_order(sums, x, dimension);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif  // PI_VECTORS_X86

struct Kernels {
    Kernel list[3];  // best first; the last is the plain one
    size_t count = 0;
};

// The kernels that this processor can run.
inline const Kernels& supported_kernels() {
    static const Kernels found = [] {
        Kernels k;
#ifdef PI_VECTORS_X86
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
            k.list[k.count++] = {"avx512", dot_rows_avx512, score_avx512, add_avx512};
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            k.list[k.count++] = {"avx2", dot_rows_avx2, score_avx2, add_avx2};
#endif
        k.list[k.count++] = {"plain", dot_rows_plain, score_plain, add_plain};
        return k;
    }();
    return found;
}

}  // namespace pi_vectors
