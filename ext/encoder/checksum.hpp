// A checksum of 128 bits at the speed of memory. It finds what a disk, a copy or a hurried hand changed, where the
// sha256 of a file of 24 MB would take longer than all else that loading does; it is no proof against a forger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pi_encoder {

constexpr uint64_t CHECKSUM_FACTOR = 0x9E3779B97F4A7C15u;  // odd, its bits without a pattern

inline uint64_t checksum_step(uint64_t state, uint64_t word) {
    const uint64_t x = (state ^ word) * CHECKSUM_FACTOR;
    return (x << 29) | (x >> 35);
}

// Eight chains over words of 8 bytes, little-endian, the last ones filled up with zeros; each step is a bijection
// of its chain, so that one changed word always shows. Then all chains and the size go through two more.
inline void checksum(const uint8_t* data, size_t size, uint64_t (&found)[2]) {
    uint64_t chain[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t at = 0;
    for (; at + 64 <= size; at += 64)
        for (size_t i = 0; i < 8; ++i) {
            uint64_t word;
            std::memcpy(&word, data + at + 8 * i, 8);
            chain[i] = checksum_step(chain[i], word);
        }
    uint64_t rest[8] = {};
    std::memcpy(rest, data + at, size - at);
    for (size_t i = 0; i < 8; ++i) chain[i] = checksum_step(chain[i], rest[i]);
    found[0] = size;
    found[1] = ~static_cast<uint64_t>(size);
    for (size_t i = 0; i < 8; ++i) {
        found[0] = checksum_step(found[0], chain[i]);
        found[1] = checksum_step(found[1], chain[7 - i]);
    }
    for (uint64_t& x : found) x ^= x >> 32;
}

}  // namespace pi_encoder
