// Search of an HNSW graph (Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
// hierarchical navigable small world graphs", 2018) over the int8 codes of a vector table.
//
// hnswlib builds the graph (pi_rank/ranking/graphs/hnsw.py); what is kept of it are the links. The walk compares codes,
// a quarter of what hnswlib reads, which is nearly all that a search waits for: the nodes it finds are scored
// exactly afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "prefetch.hpp"
#include "vectors_kernel.hpp"
#include "vectors_query.hpp"
#include "vectors_table.hpp"

namespace pi_graph {

constexpr int32_t NONE = -1;

// Links as arrays, rows filled up with NONE (pi_rank/ranking/graphs/graph.py).
struct Links {
    const int32_t* ground;       // [count, 2 m]: neighbours on level 0
    const int32_t* upper;        // [rows, m]: neighbours on the levels above, level after level of each node
    const int32_t* upper_begin;  // [count]: a node's first row in `upper`, NONE where it has none
    int32_t count;
    int32_t m;
    int32_t entry;
    int32_t top;  // level of the entry

    const int32_t* ground_of(int32_t node) const { return ground + size_t(node) * 2 * size_t(m); }
    const int32_t* upper_of(int32_t node, int32_t level) const {
        return upper + (size_t(upper_begin[node]) + size_t(level) - 1) * size_t(m);
    }
};

// Whether every link leads to a node, and every link above level 0 to a node of that level.
inline bool are_sound(const Links& links, int64_t upper_rows) {
    std::vector<int32_t> level_of(size_t(upper_rows), 0);  // by row of `upper`
    for (int32_t node = 0; node < links.count; ++node) {
        const int32_t begin = links.upper_begin[node];
        if (begin < NONE || begin >= upper_rows) return false;
        if (begin != NONE) level_of[size_t(begin)] = 1;
    }
    for (size_t row = 0; row < level_of.size(); ++row) {
        if (level_of[row] == 0 && row == 0) return false;
        if (level_of[row] == 0) level_of[row] = level_of[row - 1] + 1;
    }
    const auto is_on = [&](int32_t node, int32_t level) {
        if (node < 0 || node >= links.count) return false;
        if (level == 0) return true;
        const int64_t row = int64_t(links.upper_begin[node]) + level - 1;
        return links.upper_begin[node] != NONE && row < upper_rows && level_of[size_t(row)] == level;
    };
    const auto are_on = [&](const int32_t* row, size_t width, int32_t level) {
        for (size_t i = 0; i < width && row[i] != NONE; ++i)
            if (!is_on(row[i], level)) return false;
        return true;
    };
    for (int32_t node = 0; node < links.count; ++node)
        if (!are_on(links.ground_of(node), 2 * size_t(links.m), 0)) return false;
    for (size_t row = 0; row < level_of.size(); ++row)
        if (!are_on(links.upper + row * size_t(links.m), size_t(links.m), level_of[row])) return false;
    return links.top >= 0 && is_on(links.entry, links.top);
}

// Nodes seen in one search: a stamp per node that grows by one with each, so that nothing has to be cleared.
class Seen {
public:
    void begin(size_t count) {
        if (stamps_.size() < count) stamps_.resize(count, 0);
        if (++now_ == 0) {
            std::fill(stamps_.begin(), stamps_.end(), 0);
            now_ = 1;
        }
    }
    bool add(int32_t node) {
        const bool fresh = stamps_[node] != now_;
        stamps_[node] = now_;
        return fresh;
    }

private:
    std::vector<uint16_t> stamps_;
    uint16_t now_ = 0;
};

class Walk {
public:
    Walk(const Links& links, const pi_vectors::Table& table, const float* query, const pi_vectors::Kernel& kernel)
        : links_(links), table_(table), kernel_(kernel), query_(query, table.dimension, table.width) {}

    // The n nearest nodes that the walk finds, nearest first; it goes on from each of them.
    std::vector<int32_t> nearest(size_t n) {
        static thread_local Seen seen;
        seen.begin(size_t(links_.count));
        int32_t entry = links_.entry;
        for (int32_t level = links_.top; level > 0; --level) entry = climbed(entry, level);
        std::vector<Kept> kept;
        kept.reserve(n);
        seen.add(entry);
        kept.push_back({similarity(entry), entry, false});
        for (size_t next = 0; next < kept.size();) {
            kept[next].expanded = true;
            gather(links_.ground_of(kept[next].node), seen);
            compare();
            size_t first = next + 1;
            for (size_t i = 0; i < found_.size(); ++i) {
                const Kept one{similarities_[i], found_[i], false};
                if (kept.size() == n && !(one < kept.back())) continue;
                if (kept.size() == n) kept.pop_back();
                const auto at = std::upper_bound(kept.begin(), kept.end(), one);
                first = std::min(first, size_t(at - kept.begin()));
                kept.insert(at, one);
            }
            next = first;
            while (next < kept.size() && kept[next].expanded) ++next;
        }
        std::vector<int32_t> nodes;
        for (const Kept& one : kept) nodes.push_back(one.node);
        return nodes;
    }

private:
    struct Kept {
        float similarity;
        int32_t node;
        bool expanded;
        bool operator<(const Kept& other) const {
            return similarity != other.similarity ? similarity > other.similarity : node < other.node;
        }
    };

    // The local optimum on one level, from `node` on.
    int32_t climbed(int32_t node, int32_t level) {
        float best = similarity(node);
        for (bool better = true; better;) {
            better = false;
            const int32_t* row = links_.upper_of(node, level);
            found_.clear();
            for (int32_t i = 0; i < links_.m && row[i] != NONE; ++i) found_.push_back(row[i]);
            compare();
            for (size_t i = 0; i < found_.size(); ++i) {
                if (similarities_[i] <= best) continue;
                best = similarities_[i];
                node = found_[i];
                better = true;
            }
        }
        return node;
    }

    // The neighbours that nobody has looked at, their codes on the way.
    void gather(const int32_t* row, Seen& seen) {
        found_.clear();
        for (size_t i = 0; i < 2 * size_t(links_.m) && row[i] != NONE; ++i)
            if (seen.add(row[i])) {
                found_.push_back(row[i]);
                pi_rank::prefetch(table_.codes(row[i]), table_.width);
            }
    }

    // The similarities of the nodes found, as multiples of the query's step.
    void compare() {
        codes_.clear();
        for (const int32_t node : found_) codes_.push_back(table_.codes(node));
        dots_.resize(found_.size());
        similarities_.resize(found_.size());
        kernel_.dot_rows(codes_.data(), codes_.size(), query_.codes.data(), table_.width, dots_.data());
        for (size_t i = 0; i < found_.size(); ++i) similarities_[i] = table_.scale(found_[i]) * float(dots_[i]);
    }

    float similarity(int32_t node) {
        found_.assign(1, node);
        compare();
        return similarities_[0];
    }

    const Links& links_;
    const pi_vectors::Table& table_;
    const pi_vectors::Kernel& kernel_;
    const pi_vectors::EncodedQuery query_;
    std::vector<int32_t> found_;
    std::vector<const int8_t*> codes_;
    std::vector<int32_t> dots_;
    std::vector<float> similarities_;
};

// Which rows have a node: those of `node` are rows[first[node], first[node + 1]), and behind those of the last node
// the list ends.
struct NodeRows {
    const int64_t* first;
    const int32_t* rows;
    int64_t count;  // rows in all, those without a node at the front
};

inline std::vector<int32_t> nearest(const Links& links, const pi_vectors::Table& table, const float* query, size_t n,
                                    const pi_vectors::Kernel& kernel) {
    if (n == 0) return {};
    return Walk(links, table, query, kernel).nearest(std::min(n, size_t(links.count)));
}

// The rows whose nodes the walk finds, and those whose nodes the graph does not know.
inline std::vector<int32_t> near_rows(const Links& links, const pi_vectors::Table& table, const NodeRows& node_rows,
                                      const float* query, size_t n, const pi_vectors::Kernel& kernel) {
    std::vector<int32_t> rows;
    for (const int32_t node : nearest(links, table, query, n, kernel))
        rows.insert(rows.end(), node_rows.rows + node_rows.first[node], node_rows.rows + node_rows.first[node + 1]);
    rows.insert(rows.end(), node_rows.rows + node_rows.first[links.count], node_rows.rows + node_rows.count);
    return rows;
}

}  // namespace pi_graph
