// The default order of a query's candidates: cosine and BM25 on one scale, with feedback from the best rows.
// pi_rank/ranking/blend.py has the formula and its reasons; tests/reference/blend.py is the same, row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "hit.hpp"
#include "prefetch.hpp"
#include "vectors_kernel.hpp"
#include "vectors_table.hpp"

namespace pi_blend {

// The rule's constants (BlendConstants).
struct Rule {
    double words;
    double coverage;
    size_t background_begin, background_end;
    double centre;
    size_t centre_hits;
    double feedback;
    size_t feedback_rows;
};

// The semantic hits, best first.
struct Hits {
    const int32_t* rows;
    const double* cosines;
    size_t count;
};

// The rows of both lists, each once: the semantic hits, then those that only the words found.
struct Candidates {
    std::vector<int32_t> rows;
    std::vector<int32_t> lexical_rank, semantic_rank;  // from 1; 0 where the row is not in that list
    std::vector<double> bm25, coverage;  // zero until somebody scores the rows
};

inline Candidates merged(const int32_t* lexical, size_t n_lexical, const Hits& hits) {
    constexpr int32_t NONE = -1;
    Candidates found;
    size_t size = 64;
    while (size < 2 * (hits.count + n_lexical)) size *= 2;
    std::vector<int32_t> slots(size, NONE);  // open addressing: row -> its place among the candidates
    const auto place_of = [&](int32_t row) {
        size_t at = (uint64_t(uint32_t(row)) * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
        while (slots[at] != NONE && found.rows[slots[at]] != row) at = (at + 1) & (size - 1);
        if (slots[at] == NONE) {
            slots[at] = int32_t(found.rows.size());
            found.rows.push_back(row);
            found.lexical_rank.push_back(0);
            found.semantic_rank.push_back(0);
        }
        return slots[at];
    };
    for (size_t i = 0; i < hits.count; ++i) found.semantic_rank[place_of(hits.rows[i])] = int32_t(i + 1);
    for (size_t i = 0; i < n_lexical; ++i) found.lexical_rank[place_of(lexical[i])] = int32_t(i + 1);
    found.bm25.resize(found.rows.size());
    found.coverage.resize(found.rows.size());
    return found;
}

// The candidates best first. `cosines`, `coverage`: what a row has of the query, whatever the others have.
struct Ranked {
    std::vector<int32_t> rows, lexical_rank, semantic_rank;
    std::vector<double> scores, lexical, semantic;  // a score is the sum of its two parts
    std::vector<double> cosines, coverage;
};

class Blend {
public:
    Blend(const Candidates& found, const Hits& hits, const pi_vectors::Table& table, const int32_t* row_node,
          const float* query, const int32_t* tie_rank, const Rule& rule, const pi_vectors::Kernel& kernel)
        : found_(found),
          hits_(hits),
          table_(table),
          row_node_(row_node),
          tie_rank_(tie_rank),
          rule_(rule),
          kernel_(kernel),
          asked_(query),
          query_(query, query + table.dimension) {}

    Ranked ranked() {
        score_words();
        score_meaning();
        const std::vector<size_t> order = best(found_.rows.size(), [this](size_t) { return true; });
        Ranked ranked;
        for (const size_t i : order) {
            ranked.rows.push_back(found_.rows[i]);
            ranked.lexical_rank.push_back(found_.lexical_rank[i]);
            ranked.semantic_rank.push_back(found_.semantic_rank[i]);
            ranked.scores.push_back(words_[i] + meaning_[i]);
            ranked.lexical.push_back(words_[i]);
            ranked.semantic.push_back(meaning_[i]);
            ranked.cosines.push_back(cosines_[i]);
            ranked.coverage.push_back(found_.coverage[i]);
        }
        return ranked;
    }

private:
    static constexpr size_t AHEAD = 4;  // vectors between asking for one and reading it

    const float* vector_of(int32_t row) const {
        const int32_t node = row_node_[row];
        return node < 0 ? nullptr : table_.vector(node);
    }

    void ask_for(int32_t row) const {
        if (const float* vector = vector_of(row)) pi_rank::prefetch(vector, table_.dimension * sizeof(float));
    }

    // BM25 by the best candidate's, and coverage; both weigh less the more the best cosine stands out.
    void score_words() {
        const double weight = word_weight();
        const double top = *std::max_element(found_.bm25.begin(), found_.bm25.end());
        const double scale = top > 0 ? (1 - rule_.coverage) / top : 0.0;
        words_.resize(found_.rows.size());
        for (size_t i = 0; i < words_.size(); ++i)
            words_[i] = weight * (scale * found_.bm25[i] + rule_.coverage * found_.coverage[i]);
    }

    double word_weight() const {
        const size_t end = std::min(rule_.background_end, hits_.count);
        if (rule_.background_begin >= end || hits_.cosines[0] <= 0) return rule_.words;
        const double sum = std::accumulate(hits_.cosines + rule_.background_begin, hits_.cosines + end, 0.0);
        return rule_.words * std::max(0.0, sum / double(end - rule_.background_begin) / hits_.cosines[0]);
    }

    // Cosine less half of what all hits have in common, plus half of the nearness to the best rows.
    void score_meaning() {
        const std::vector<float> centre = mean(hits_.rows, std::min(rule_.centre_hits, hits_.count));
        for (size_t j = 0; j < query_.size(); ++j) query_[j] -= float(rule_.centre) * centre[j];
        meaning_.assign(found_.rows.size(), std::numeric_limits<double>::quiet_NaN());
        cosines_ = meaning_;
        for (size_t i = 0; i < meaning_.size(); ++i) {
            if (i + AHEAD < meaning_.size()) ask_for(found_.rows[i + AHEAD]);
            const float* vector = vector_of(found_.rows[i]);
            if (vector == nullptr) continue;
            meaning_[i] = kernel_.score(query_.data(), vector, query_.size());
            const size_t rank = size_t(found_.semantic_rank[i]);
            cosines_[i] = rank ? hits_.cosines[rank - 1] : kernel_.score(asked_, vector, query_.size());
        }
        const auto embedded = [this](size_t i) { return !std::isnan(meaning_[i]); };
        std::vector<int32_t> rows;
        for (const size_t i : best(rule_.feedback_rows, embedded)) rows.push_back(found_.rows[i]);
        const std::vector<float> feedback = mean(rows.data(), rows.size());
        double sum = 0.0, cosine_sum = 0.0;
        size_t count = 0;
        for (size_t i = 0; i < meaning_.size(); ++i) {
            if (!embedded(i)) continue;
            meaning_[i] += rule_.feedback * kernel_.score(feedback.data(), vector_of(found_.rows[i]), query_.size());
            sum += meaning_[i];
            cosine_sum += cosines_[i];
            ++count;
        }
        // A row that is not embedded yet is taken for an average one, so that its words decide.
        for (size_t i = 0; i < meaning_.size(); ++i)
            if (std::isnan(meaning_[i])) meaning_[i] = sum / double(count), cosines_[i] = cosine_sum / double(count);
    }

    // The mean vector of some rows, all of them embedded; summed in float64 in their order.
    std::vector<float> mean(const int32_t* rows, size_t count) const {
        std::vector<double> sums(table_.dimension, 0.0);
        for (size_t i = 0; i < count; ++i) {
            if (i + AHEAD < count) ask_for(rows[i + AHEAD]);
            kernel_.add(sums.data(), vector_of(rows[i]), sums.size());
        }
        std::vector<float> means(sums.size());
        for (size_t j = 0; j < means.size(); ++j) means[j] = float(sums[j] / double(count));
        return means;
    }

    // The places of the `count` best candidates so far, of those that `counts` says, best first.
    template <class Counts>
    std::vector<size_t> best(size_t count, const Counts& counts) const {
        std::vector<pi_rank::Hit> scored;  // `row` is the place
        scored.reserve(found_.rows.size());
        for (size_t i = 0; i < found_.rows.size(); ++i)
            if (counts(i)) scored.push_back({words_[i] + meaning_[i], tie_rank_[found_.rows[i]], int32_t(i)});
        pi_rank::finish(scored, count);
        std::vector<size_t> places;
        for (const pi_rank::Hit& hit : scored) places.push_back(size_t(hit.row));
        return places;
    }

    const Candidates& found_;
    const Hits& hits_;
    const pi_vectors::Table& table_;
    const int32_t* row_node_;
    const int32_t* tie_rank_;
    const Rule& rule_;
    const pi_vectors::Kernel& kernel_;
    const float* asked_;
    std::vector<float> query_;  // in the end less the hits' centre
    std::vector<double> words_, meaning_, cosines_;  // by candidate
};

// The candidates in their order. Every semantic hit has a vector.
inline Ranked ranked(const Candidates& found, const Hits& hits, const pi_vectors::Table& table,
                     const int32_t* row_node, const float* query, const int32_t* tie_rank, const Rule& rule,
                     const pi_vectors::Kernel& kernel) {
    return Blend(found, hits, table, row_node, query, tie_rank, rule, kernel).ranked();
}

}  // namespace pi_blend
