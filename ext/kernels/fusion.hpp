// Reciprocal rank fusion: open addressing with linear probing, then a merge. The scratch is one table of twice the
// number of listed rows, not of all rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hit.hpp"

namespace pi_rank {

struct RankedList {
    const int32_t* rows;  // best first; -1 takes a rank and is no row
    int64_t size;
    double weight;
};

// A row outside [-1, n_rows): where it is.
struct BadRank {
    int64_t list = -1, rank = -1;  // from 0; list -1: all rows are inside
};

class Fusion {
public:
    Fusion(const std::vector<RankedList>& lists, const int32_t* tie_rank, int64_t n_rows)
        : lists_(lists), tie_rank_(tie_rank), n_rows_(n_rows) {
        size_t entries = 0, size = 16;
        for (const RankedList& list : lists) entries += size_t(list.size);
        while (size < 2 * entries) size *= 2;
        table_.assign(size, Entry{-1, -1, -1, 0.0});
    }

    // Sums weight / (k + rank) of each row, rank from 1.
    BadRank add(double k) {
        for (size_t number = 0; number < lists_.size(); ++number)
            for (int64_t i = 0; i < lists_[number].size; ++i) {
                const int32_t row = lists_[number].rows[i];
                if (row == -1) continue;
                if (row < 0 || row >= n_rows_) return {int64_t(number), i};
                add(int32_t(number), row, lists_[number].weight / (k + double(i + 1)));
            }
        return {};
    }

    // The best `limit` rows, best first. Once.
    //
    // Rows of one list only are in order already: a list's contributions fall with the rank. Merging them costs a
    // third of sorting everything, whose comparisons the processor cannot foresee.
    std::vector<Hit> best(size_t limit) {
        std::vector<Hit> hits, shared, run;
        for (size_t number = 0; number < lists_.size(); ++number) {
            run.clear();
            for (int64_t i = 0; i < lists_[number].size; ++i) {
                if (lists_[number].rows[i] == -1) continue;
                Entry& entry = entry_of(lists_[number].rows[i]);
                if (entry.first_list != int32_t(number)) continue;  // taken already, or counted with an earlier list
                (entry.last_list == int32_t(number) ? run : shared)
                    .push_back({entry.score, tie_rank_[entry.row], entry.row});
                entry.first_list = -1;
            }
            merge(hits, run);
        }
        merge(hits, shared);
        if (limit < hits.size()) hits.resize(limit);
        return hits;
    }

private:
    struct Entry {
        int32_t row, first_list, last_list;
        double score;
    };

    void add(int32_t number, int32_t row, double share) {
        Entry& entry = entry_of(row);
        if (entry.last_list == number) return;  // a duplicate: it counts once, at its best rank
        if (entry.row == -1) {
            entry.row = row;
            entry.first_list = number;
        }
        entry.last_list = number;
        entry.score += share;
    }

    // The row's entry, or the one that it would take.
    Entry& entry_of(int32_t row) {
        const size_t mask = table_.size() - 1;
        size_t at = (uint64_t(uint32_t(row)) * 0x9E3779B97F4A7C15u >> 32) & mask;
        while (table_[at].row != row && table_[at].row != -1) at = (at + 1) & mask;
        return table_[at];
    }

    // Adds `more`, sorted where it is not, to the sorted `hits`.
    void merge(std::vector<Hit>& hits, std::vector<Hit>& more) {
        // With a weight of 0 only the tie ranks make the order.
        if (!std::is_sorted(more.begin(), more.end())) std::sort(more.begin(), more.end());
        merged_.resize(hits.size() + more.size());
        std::merge(hits.begin(), hits.end(), more.begin(), more.end(), merged_.begin());
        hits.swap(merged_);
    }

    const std::vector<RankedList>& lists_;
    const int32_t* tie_rank_;
    const int64_t n_rows_;
    std::vector<Entry> table_;
    std::vector<Hit> merged_;  // scratch
};

// The best `limit` rows of all lists, best first; `bad` says where a list holds what is no row.
inline std::vector<Hit> fused(const std::vector<RankedList>& lists, double k, size_t limit, const int32_t* tie_rank,
                              int64_t n_rows, BadRank& bad) {
    Fusion fusion(lists, tie_rank, n_rows);
    bad = fusion.add(k);
    if (bad.list >= 0) return {};
    return fusion.best(limit);
}

}  // namespace pi_rank
