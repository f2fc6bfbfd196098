// Sixteen numbers side by side: one register of AVX-512, a pair of AVX2's, a pair of pairs of SSE's or NEON's, and
// where the compiler knows no vectors pairs down to single numbers. No lane sees another.
#pragma once

#include <cstdint>

namespace pi_encoder {

constexpr int LANES = 16;

template <class Half>
struct Pair {
    Half low, high;
};

#if defined(__GNUC__) || defined(__clang__)

#define PI_GNU_VECTORS 1
#define PI_ENCODER_INLINE inline __attribute__((always_inline))

typedef float Floats16 __attribute__((vector_size(64)));
typedef int32_t Ints16 __attribute__((vector_size(64)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef int32_t Ints8 __attribute__((vector_size(32)));
typedef float Floats4 __attribute__((vector_size(16)));
typedef int32_t Ints4 __attribute__((vector_size(16)));

#else

#define PI_ENCODER_INLINE __forceinline

typedef Pair<Pair<float>> Floats4;
typedef Pair<Pair<int32_t>> Ints4;

#endif

}  // namespace pi_encoder
