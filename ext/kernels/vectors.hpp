// The vector scan: int8 codes find the rows that can be among the k nearest, float64 scores decide.
//
// Every vector x (unit length) is also kept as int8 codes: x = scale * code + e, with |e| stored. For a query
// q = step * qcode + r (int16 codes), Cauchy-Schwarz gives
//     |q.x - scale * step * (qcode.code)| <= |q'| |e| + |r| |x|        where q' = step * qcode.
// A row whose upper bound is below the k-th best lower bound cannot be a hit; the others are scored from their
// float32 vectors. The result is therefore that of a full float64 scan, whatever the data; the codes only make
// it read a quarter of the memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "hit.hpp"
#include "prefetch.hpp"
#include "vectors_kernels.hpp"
#include "vectors_query.hpp"
#include "vectors_table.hpp"

namespace pi_vectors {

// The length of a vector; NaN or infinite where a component is.
inline double length(const float* x, size_t dimension) { return std::sqrt(score_in_lanes(x, x, dimension)); }

// The first of n vectors whose length is not 1 within the tolerance, or n.
inline int64_t first_not_unit(const float* vectors, int64_t n, size_t dimension, double tolerance) {
    int64_t i = 0;
    while (i < n && std::fabs(length(vectors + size_t(i) * dimension, dimension) - 1.0) <= tolerance) ++i;
    return i;
}

using pi_rank::Hit;

// One query's search: `scan` ranges of the rows, each once, then `finish`.
class Search {
public:
    Search(const Table& table, const Rows& rows, const float* query, int64_t k, const Kernel& kernel)
        : table_(table), rows_(rows), query_(query), k_(size_t(k)), kernel_(kernel),
          encoded_(query, table.dimension, table.width) {
        lowers_.reserve(std::min<size_t>(2 * k_ + 16, size_t(rows.count)));
    }

    void scan(int64_t begin, int64_t end) {
        const Segment* segment = nullptr;
        int32_t number = -1;  // of the segment
        size_t filled = 0;
        for (int64_t i = begin; i < end; ++i) {
            if (rows_.rows == nullptr && rows_.eligible != nullptr) i = skip_ineligible(i, end);
            if (i == end) break;
            const int32_t row = rows_.rows == nullptr ? int32_t(i) : rows_.rows[i];
            if (rows_.eligible != nullptr && !rows_.eligible[row]) continue;
            const int32_t node = rows_.row_node[row];
            if (node < 0) continue;
            const uint32_t place = uint32_t(node) % SEGMENT_ROWS;
            if (int32_t(uint32_t(node) / SEGMENT_ROWS) != number) {
                number = int32_t(uint32_t(node) / SEGMENT_ROWS);
                segment = table_.segments[size_t(number)].get();
            }
            block_codes_[filled] = segment->codes.get() + place * table_.width;
            block_scale_[filled] = segment->scales[place];
            block_error_[filled] = segment->errors[place];
            block_row_[filled] = row;
            // At 100,000 rows this halves the time of a scan, which is a wait for memory.
            pi_rank::prefetch(block_codes_[filled], table_.width);
            if (++filled == BLOCK) {
                flush(filled);
                filled = 0;
            }
        }
        flush(filled);
    }

    // The k best, best first; equal scores by tie rank.
    std::vector<Hit> finish() {
        if (lowers_.size() >= k_) keep_best_lowers();
        const auto hopeless = [this](const Candidate& c) { return c.upper < threshold_; };
        candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), hopeless), candidates_.end());
        const size_t first = std::min(k_, candidates_.size());
        if (first < candidates_.size()) {
            const auto higher = [](const Candidate& a, const Candidate& b) { return a.upper > b.upper; };
            std::nth_element(candidates_.begin(), candidates_.begin() + first, candidates_.end(), higher);
        }
        // The exact scores of k rows bound the k-th best more tightly than their lower bounds did.
        std::vector<Hit> hits;
        double floor = std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < first; ++i) floor = std::min(floor, score(i, &hits));
        for (size_t i = first; i < candidates_.size(); ++i)
            if (candidates_[i].upper >= floor) score(i, &hits);
        if (hits.size() > k_) {
            std::nth_element(hits.begin(), hits.begin() + k_, hits.end());
            hits.resize(k_);
        }
        std::sort(hits.begin(), hits.end());
        return hits;
    }

private:
    static constexpr size_t BLOCK = 64;  // rows per kernel call: their codes stay in the first-level cache

    static constexpr size_t AHEAD = 4;   // candidates between asking for a vector and scoring it

    struct Candidate {
        double upper;
        int32_t row;
    };

    // The first index from i on that may be eligible, eight flags at a time.
    int64_t skip_ineligible(int64_t i, int64_t end) const {
        uint64_t flags;
        for (; i + 8 <= end; i += 8) {
            std::memcpy(&flags, rows_.eligible + i, 8);
            if (flags) break;
        }
        return i;
    }

    // Takes in the first `filled` rows of the block.
    void flush(size_t filled) {
        int32_t dots[BLOCK];
        double values[BLOCK], margins[BLOCK];
        kernel_.dot_rows(block_codes_, filled, encoded_.codes.data(), table_.width, dots);
        for (size_t i = 0; i < filled; ++i) {
            values[i] = encoded_.step * block_scale_[i] * dots[i];
            margins[i] = encoded_.norm * block_error_[i] + encoded_.error;
        }
        for (size_t i = 0; i < filled; ++i) {
            if (values[i] + margins[i] < threshold_) continue;
            candidates_.push_back({values[i] + margins[i], block_row_[i]});
            raise_threshold(values[i] - margins[i]);
        }
    }

    // Keeps the k best lower bounds, and about as many again before the worse half is dropped: for the k of a
    // ranking this is no slower than a heap.
    void raise_threshold(double lower) {
        if (lower <= threshold_) return;
        lowers_.push_back(lower);
        if (lowers_.size() >= 2 * k_ + 16) keep_best_lowers();
    }

    void keep_best_lowers() {
        std::nth_element(lowers_.begin(), lowers_.begin() + (k_ - 1), lowers_.end(), std::greater<double>());
        lowers_.resize(k_);
        threshold_ = lowers_.back();
    }

    const float* vector_of(int32_t row) const { return table_.vector(rows_.row_node[row]); }

    // Scores candidate i, while the vector of a later one is on its way from memory.
    double score(size_t i, std::vector<Hit>* hits) const {
        if (i + AHEAD < candidates_.size())
            pi_rank::prefetch(vector_of(candidates_[i + AHEAD].row), table_.dimension * 4);
        const int32_t row = candidates_[i].row;
        const double value = kernel_.score(query_, vector_of(row), table_.dimension);
        hits->push_back({value, rows_.tie_rank[row], row});
        return value;
    }

    const Table& table_;
    const Rows rows_;
    const float* query_;
    const size_t k_;
    const Kernel& kernel_;
    const EncodedQuery encoded_;
    double threshold_ = -std::numeric_limits<double>::infinity();
    std::vector<double> lowers_;
    std::vector<Candidate> candidates_;
    const int8_t* block_codes_[BLOCK];
    float block_scale_[BLOCK];
    float block_error_[BLOCK];
    int32_t block_row_[BLOCK];
};

// One query over `rows`.
inline std::vector<Hit> search_one(const Table& table, const Rows& rows, const float* query, int64_t k,
                                   const Kernel& kernel) {
    k = std::min(k, rows.count);
    if (k <= 0) return {};
    Search search(table, rows, query, k, kernel);
    search.scan(0, rows.count);
    return search.finish();
}

// Many queries over the same rows: each tile of codes is read from memory once and serves them all.
// `eligible` holds one pointer per query, null where all rows are eligible.
inline std::vector<std::vector<Hit>> search_many(const Table& table, const Rows& rows,
                                                 const std::vector<const uint8_t*>& eligible,
                                                 const float* queries, int64_t k, const Kernel& kernel) {
    constexpr int64_t TILE = 1024;
    std::vector<std::unique_ptr<Search>> searches;
    for (size_t q = 0; q < eligible.size(); ++q) {
        Rows own = rows;
        own.eligible = eligible[q];
        searches.emplace_back(new Search(table, own, queries + q * table.dimension, k, kernel));
    }
    for (int64_t begin = 0; begin < rows.count; begin += TILE)
        for (auto& one : searches) one->scan(begin, std::min(begin + TILE, rows.count));
    std::vector<std::vector<Hit>> found;
    for (auto& one : searches) found.push_back(one->finish());
    return found;
}

}  // namespace pi_vectors
