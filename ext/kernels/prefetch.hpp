// Asks for data ahead of its use.
#pragma once

#include <cstddef>

namespace pi_rank {

inline void prefetch(const void* data, size_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
    for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(data) + i);
#else
    (void)data, (void)bytes;
#endif
}

}  // namespace pi_rank
