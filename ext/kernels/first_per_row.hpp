// From hits in any order to ascending rows with the least index each: a bitmap of rows and its running counts
// say where each row goes, so the cost is the number of hits plus a 64th of the number of rows. No sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pi_rank {

// Counts in parallel within the word. Without -mpopcnt, which a portable build cannot have, std::bitset::count()
// calls a table lookup that takes a third of the whole function.
inline std::uint32_t bit_count(std::uint64_t word) noexcept {
    word -= word >> 1 & 0x5555555555555555ULL;
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
    return static_cast<std::uint32_t>(word * 0x0101010101010101ULL >> 56);
}

// `hits` are row << 32 | index.
inline void first_per_row(const std::vector<std::uint64_t>& hits, std::size_t n_rows,
                          std::vector<std::int32_t>& rows, std::vector<std::int32_t>& indexes) {
    if (hits.empty()) return;
    std::vector<std::uint64_t> bitmap(n_rows / 64 + 1, 0);
    for (const std::uint64_t hit : hits) bitmap[hit >> 38] |= std::uint64_t{1} << (hit >> 32 & 63);

    std::vector<std::uint32_t> before(bitmap.size());
    for (std::size_t word = 0; word < bitmap.size(); ++word) {
        before[word] = static_cast<std::uint32_t>(rows.size());
        for (std::uint64_t bits = bitmap[word]; bits != 0; bits &= bits - 1) {
            const std::uint32_t bit = bit_count((bits & (~bits + 1)) - 1);  // the number of trailing zeros
            rows.push_back(static_cast<std::int32_t>(word * 64 + bit));
        }
    }

    indexes.assign(rows.size(), INT32_MAX);
    for (const std::uint64_t hit : hits) {
        const std::uint64_t lower = (std::uint64_t{1} << (hit >> 32 & 63)) - 1;
        std::int32_t& index = indexes[before[hit >> 38] + bit_count(bitmap[hit >> 38] & lower)];
        index = std::min(index, static_cast<std::int32_t>(hit & UINT32_MAX));
    }
}

}  // namespace pi_rank
