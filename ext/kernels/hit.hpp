// A scored row, and the k best of many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pi_rank {

struct Hit {
    double score;
    int32_t tie;
    int32_t row;
    // "Ranks before": higher score first, equal scores by ascending tie rank. An operator rather than a
    // comparison passed by pointer, so that the standard algorithms inline it.
    bool operator<(const Hit& other) const {
        if (score != other.score) return score > other.score;
        if (tie != other.tie) return tie < other.tie;
        return row < other.row;
    }
};

// Leaves the k best, best first.
inline void finish(std::vector<Hit>& hits, size_t k) {
    if (k < hits.size()) {
        std::nth_element(hits.begin(), hits.begin() + k, hits.end());
        hits.resize(k);
    }
    std::sort(hits.begin(), hits.end());
}

// The best hits so far: a buffer of a few k, cut back to the best k when it is full. `bar` is the k-th best hit at
// the last cut; what ranks after it need not be kept.
struct KeptHits {
    static constexpr size_t STRIDE = 8;  // hits that are added before anybody looks whether there is room
    static constexpr size_t SPARE = 2;   // hits are kept up to about this many times k

    std::vector<Hit> hits;
    size_t count = 0;
    size_t k = 0;
    Hit bar{1e-300, -1, 0};  // below every sum that is not zero

    KeptHits() = default;
    KeptHits(size_t k, size_t n_rows) : hits(std::min(SPARE * k, n_rows) + STRIDE), k(k) {}

    // Room for one more stride.
    void make_room() {
        if (count + STRIDE <= hits.size()) return;
        std::nth_element(hits.begin(), hits.begin() + (k - 1), hits.begin() + count);
        bar = hits[k - 1];
        count = k;
    }

    std::vector<Hit>& best() {
        hits.resize(count);
        finish(hits, k);
        return hits;
    }
};

}  // namespace pi_rank
