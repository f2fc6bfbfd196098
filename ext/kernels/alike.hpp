// Pairs of vectors with a large cosine: codes first, since nearly all pairs are far from it, then the vectors.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "vectors_kernel.hpp"
#include "vectors_table.hpp"

namespace pi_vectors {

struct Pairs {
    std::vector<int32_t> first, second;
};

inline int32_t dot_codes(const int8_t* a, const int8_t* b, size_t width) {
    int32_t sum = 0;
    for (size_t i = 0; i < width; ++i) sum += int32_t(a[i]) * int32_t(b[i]);
    return sum;
}

// `nodes`: of the rows, -1 for one without a vector, which is in no pair. Places ascend, the first before the second.
inline Pairs alike(const Table& table, const std::vector<int32_t>& nodes, double least, const Kernel& kernel) {
    Pairs found;
    const double longest = std::sqrt(double(table.dimension));
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] < 0) continue;
        const double scale = table.scale(nodes[i]), error = scale * longest;  // a code is off by a step at most
        for (size_t j = i + 1; j < nodes.size(); ++j) {
            if (nodes[j] < 0) continue;
            bool same = nodes[i] == nodes[j];
            if (!same) {
                const double other = table.scale(nodes[j]), margin = error + other * longest * (1 + error);
                const double about = scale * other * dot_codes(table.codes(nodes[i]), table.codes(nodes[j]), table.width);
                same = about + margin >= least &&
                       kernel.score(table.vector(nodes[i]), table.vector(nodes[j]), table.dimension) >= least;
            }
            if (!same) continue;
            found.first.push_back(int32_t(i));
            found.second.push_back(int32_t(j));
        }
    }
    return found;
}

}  // namespace pi_vectors
