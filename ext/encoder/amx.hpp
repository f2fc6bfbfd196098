// The encoder with AMX: sixteen rows of codes times sixteen outputs in one instruction, 64 inputs deep.
#pragma once

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "encoder/lanes.hpp"
#include "encoder/model.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,amx-tile,amx-int8"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,amx-tile,amx-int8")
#endif

namespace pi_encoder {
namespace amx {

typedef Floats16 Floats;
typedef Ints16 Ints;
typedef uint8_t Code;
constexpr int HEIGHT = 16;  // of one of the processor's tiles, each row of 64 bytes
constexpr int TILE_ROWS = 2 * HEIGHT, TILE_OUTPUTS = OUTPUTS;
constexpr int QUERIES = 4;

// Whether the processor has it, and the kernel of the operating system lets this process use it.
inline bool is_there() {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & 1u << 24) || !(d & 1u << 25)) return false;
    constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

// The processor's tiles, all of full size, for as long as this lives.
class Configured {
public:
    Configured() {
        alignas(64) uint8_t settings[64] = {};
        settings[0] = 1;
        for (int i = 0; i < 8; ++i) {
            settings[16 + 2 * i] = 64;       // bytes of a row, low half of 16 bits
            settings[48 + i] = HEIGHT;
        }
        _tile_loadconfig(settings);
    }
    ~Configured() { _tile_release(); }
};
#define PI_ENCODER_CONFIGURED Configured

#include "encoder/arithmetic.inc"

PI_ENCODER_INLINE void store_codes(Code* at, const Ints& codes) {
    __m512i wide;
    std::memcpy(&wide, &codes, sizeof wide);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(wide));
}

// Rows beyond `height` are computed too, from whatever lies there, and read by nobody.
inline void multiply_tile(size_t height, const Code* codes, size_t in, const int8_t* weights, int32_t* sums) {
    constexpr size_t LINE = OUTPUTS * 4, DEPTH = 64, SUMS = TILE_OUTPUTS * 4;
    if (height <= HEIGHT) {  // four tiles of sums side by side
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (size_t i = 0; i < in; i += DEPTH, weights += DEPTH / 4 * LINE) {
            _tile_loadd(4, codes + i, in);
            _tile_loadd(5, weights, LINE);
            _tile_dpbusd(0, 4, 5);
            _tile_loadd(6, weights + 64, LINE);
            _tile_dpbusd(1, 4, 6);
            _tile_loadd(7, weights + 128, LINE);
            _tile_dpbusd(2, 4, 7);
            _tile_loadd(5, weights + 192, LINE);
            _tile_dpbusd(3, 4, 5);
        }
        _tile_stored(0, sums, SUMS);
        _tile_stored(1, sums + 16, SUMS);
        _tile_stored(2, sums + 32, SUMS);
        _tile_stored(3, sums + 48, SUMS);
        return;
    }
    for (int half = 0; half < 2; ++half, weights += 128, sums += 32) {  // two by two
        const int8_t* line = weights;
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (size_t i = 0; i < in; i += DEPTH, line += DEPTH / 4 * LINE) {
            _tile_loadd(4, codes + i, in);
            _tile_loadd(6, line, LINE);
            _tile_loadd(7, line + 64, LINE);
            _tile_dpbusd(0, 4, 6);
            _tile_loadd(5, codes + HEIGHT * in + i, in);
            _tile_dpbusd(1, 4, 7);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
        _tile_stored(0, sums, SUMS);
        _tile_stored(1, sums + 16, SUMS);
        _tile_stored(2, sums + HEIGHT * TILE_OUTPUTS, SUMS);
        _tile_stored(3, sums + HEIGHT * TILE_OUTPUTS + 16, SUMS);
    }
}

#include "encoder/layers.inc"

#undef PI_ENCODER_CONFIGURED

}  // namespace amx
}  // namespace pi_encoder

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
