// BM25 of all rows of a segment, in blocks that fit in the first-level cache, every term of a block in query order:
// the scratch does not grow with the corpus, and each sum has FTS5's order of additions, so that equal scores stay
// equal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hit.hpp"

namespace pi_rank {

// Where a search has come to in a term's postings.
struct Cursor {
    const int32_t* rows;
    const int32_t* codes;
    const double* impacts;
    double idf;
    int64_t at, end;

    // Adds the term's contributions to the rows before `last`; sums is indexed by row.
    void accumulate(double* sums, int64_t last) {
        const Cursor here = *this;  // of which a sum written changes nothing, so that it stays in registers
        int64_t i = here.at;
        for (; i < here.end && here.rows[i] < last; ++i) sums[here.rows[i]] += here.idf * here.impacts[here.codes[i]];
        at = i;
    }

    // Goes to the first row that is not before `row`, by galloping and then halving.
    void skip_to(int64_t row) {
        if (at >= end || rows[at] >= row) return;
        int64_t step = 1;
        for (; at + step < end && rows[at + step] < row; step *= 2) at += step;
        at = std::lower_bound(rows + at + 1, rows + std::min(at + step, end), row) - rows;
    }
};

// One query over one segment.
struct Search {
    size_t query;             // which of the queries
    const uint8_t* eligible;  // by row
    int64_t first_row, n_rows;
    std::vector<Cursor> cursors;  // in query order
};

class BlockScores {
public:
    explicit BlockScores(const int32_t* tie_rank) : tie_rank_(tie_rank), sums_(BLOCK, 0.0) {}

    void add(Search& search, KeptHits& kept) {
        if (search.cursors.empty()) return;
        const int64_t last = search.first_row + search.n_rows;
        for (int64_t start = search.first_row; start < last; start += BLOCK) {
            const int64_t end = std::min(start + BLOCK, last);
            const uint8_t* eligible = search.eligible + start;
            if (!eligible[0] && std::memcmp(eligible, eligible + 1, size_t(end - start - 1)) == 0) {
                for (Cursor& cursor : search.cursors) cursor.skip_to(end);
                continue;
            }
            for (Cursor& cursor : search.cursors) cursor.accumulate(sums_.data() - start, end);
            if (std::memchr(eligible, 0, size_t(end - start)) != nullptr) silence(eligible, end - start);
            gather(start, end - start, eligible, kept);
            std::memset(sums_.data(), 0, BLOCK * sizeof(double));
        }
    }

private:
    static constexpr int64_t BLOCK = 4096;  // rows; 32 KiB of sums
    static constexpr int64_t STRIDE = KeptHits::STRIDE;

    // Zeroes the sums of rows that may not be returned: they would be looked at again for each that is high.
    void silence(const uint8_t* eligible, int64_t n_rows) {
        for (int64_t i = 0; i < n_rows; ++i) sums_[i] = eligible[i] ? sums_[i] : 0.0;
    }

    // The largest of STRIDE sums, as a tree: a chain of comparisons would wait for each other.
    static double largest(const double* sums) {
        const auto larger = [](double one, double other) { return one > other ? one : other; };
        return larger(larger(larger(sums[0], sums[4]), larger(sums[1], sums[5])),
                      larger(larger(sums[2], sums[6]), larger(sums[3], sums[7])));
    }

    // Keeps the block's hits that rank before the bar. Sums are zero past the end of a short block.
    void gather(int64_t start, int64_t n_rows, const uint8_t* eligible, KeptHits& kept) const {
        const double* sums = sums_.data();
        const int32_t* tie_rank = tie_rank_ + start;
        Hit* hits = kept.hits.data();
        double bar = kept.bar.score;
        int32_t bar_tie = kept.bar.tie;
        size_t count = kept.count;
        for (int64_t i = 0; i < n_rows; i += STRIDE) {
            if (largest(sums + i) < bar) continue;
            kept.make_room();
            bar = kept.bar.score;
            bar_tie = kept.bar.tie;
            count = kept.count;
            for (int64_t j = i; j < std::min(i + STRIDE, n_rows); ++j) {
                hits[count] = {sums[j], tie_rank[j], int32_t(start + j)};
                // Without a branch, which would be mispredicted for most of the hits.
                const bool better = (sums[j] > bar) | ((sums[j] == bar) & (tie_rank[j] < bar_tie));
                count += (eligible[j] != 0) & better;
            }
            kept.count = count;
        }
    }

    const int32_t* tie_rank_;
    std::vector<double> sums_;
};

// Runs searches, each into the hits of its query.
inline void score_blocks(std::vector<Search>& searches, const int32_t* tie_rank, std::vector<KeptHits>& kept) {
    BlockScores scores(tie_rank);
    for (Search& search : searches) scores.add(search, kept[search.query]);
}

}  // namespace pi_rank
