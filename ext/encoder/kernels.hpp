// The encoder for each instruction set, chosen at run time. What differs is the product of codes and weights, whose
// sums are exact; the rest is one text (layers.inc) that is compiled for each, in an order of operations that none of
// them may change. So all of them give the same bits.
#pragma once

#include "encoder/model.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"               // vectors that only inlined functions hand on
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns about its own header
#endif

#include "encoder/plain.hpp"
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PI_ENCODER_X86 1
#include "encoder/avx2.hpp"
#include "encoder/avxvnni.hpp"
#include "encoder/vnni.hpp"
#if defined(__linux__)
#define PI_ENCODER_AMX 1  // other systems have other ways to ask for it
#include "encoder/amx.hpp"
#endif
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace pi_encoder {

typedef void (*Encode)(const Model&, const Texts&, Scratch&, float*);

struct Kernel {
    const char* name;
    Encode encode;
};

struct Kernels {
    Kernel list[5];  // best first; the last is the plain one
    size_t count = 0;
};

// The kernels that this processor can run.
inline const Kernels& supported_kernels() {
    static const Kernels found = [] {
        Kernels k;
#ifdef PI_ENCODER_X86
        __builtin_cpu_init();
        const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vnni");
#ifdef PI_ENCODER_AMX
        if (avx512 && amx::is_there()) k.list[k.count++] = {"amx", amx::encode};
#endif
        if (avx512) k.list[k.count++] = {"vnni", vnni::encode};
        if (__builtin_cpu_supports("avxvnni")) k.list[k.count++] = {"avxvnni", avxvnni::encode};
        if (__builtin_cpu_supports("avx2")) k.list[k.count++] = {"avx2", avx2::encode};
#endif
        k.list[k.count++] = {"plain", plain::encode};
        return k;
    }();
    return found;
}

}  // namespace pi_encoder
