// The term dictionary: open addressing with linear probing over a blob of UTF-8 stems, ready to be mapped.
#pragma once

#include <cstdint>
#include <cstring>

namespace pi_rank {

// `slots` has a power of two of entries, at most half of them used; an entry is a term id, or -1. The text of term t
// is blob[ends[t], ends[t + 1]).
struct Terms {
    const int32_t* slots;
    int64_t n_slots;
    const int64_t* ends;
    const uint8_t* blob;

    // Where the term is, or would go.
    int64_t slot_of(const uint8_t* text, int64_t length) const {
        const int64_t mask = n_slots - 1;
        int64_t at = int64_t(hash(text, length)) & mask;
        for (int32_t term; (term = slots[at]) >= 0; at = (at + 1) & mask)
            if (ends[term + 1] - ends[term] == length && std::memcmp(blob + ends[term], text, size_t(length)) == 0) break;
        return at;
    }

    // The term's id, or -1.
    int32_t find(const uint8_t* text, int64_t length) const { return slots[slot_of(text, length)]; }

private:
    // 64-bit FNV-1a, finished with MurmurHash3's mixer because probing uses the low bits.
    static uint64_t hash(const uint8_t* text, int64_t length) {
        uint64_t value = 0xCBF29CE484222325u;
        for (int64_t i = 0; i < length; ++i) value = (value ^ text[i]) * 0x100000001B3u;
        value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCDu;
        return value ^ (value >> 33);
    }
};

}  // namespace pi_rank
