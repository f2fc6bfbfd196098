// How many content stems a query shares with each of a few rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hit.hpp"

namespace pi_rank {

// The rows' postings: those of term t are numbers[offsets[t], offsets[t + 1]), numbers of rows.
struct Overlaps {
    const int64_t* offsets;
    const int32_t* numbers;
    const int32_t* content;  // by number: distinct content stems
    const int32_t* rows;     // by number
    int64_t count;

    // The k eligible rows whose share of the smaller set, the row's stems or the query's, is the largest and more than
    // `least`. `terms` are those of the query's `n_terms` that occur.
    std::vector<Hit> best(const std::vector<int32_t>& terms, int64_t n_terms, size_t k, double least,
                          const uint8_t* eligible, const int32_t* tie_rank) const {
        const double enough = least * (1.0 - 1e-9);  // so near to `least` that the quotient has to decide
        std::vector<int32_t> shared(size_t(count), 0);
        for (const int32_t term : terms)
            for (int64_t at = offsets[term]; at < offsets[term + 1]; ++at) ++shared[size_t(numbers[at])];
        std::vector<Hit> hits;
        for (int64_t i = 0; i < count; ++i) {
            const double smaller = double(std::min<int64_t>(n_terms, content[i]));
            // Few rows come this far, and only they are looked up in the arrays of all rows.
            if (shared[size_t(i)] == 0 || shared[size_t(i)] < enough * smaller || !eligible[rows[i]]) continue;
            const double ratio = shared[size_t(i)] / smaller;
            if (ratio > least) hits.push_back({ratio, tie_rank[rows[i]], rows[i]});
        }
        finish(hits, k);
        return hits;
    }
};

}  // namespace pi_rank
