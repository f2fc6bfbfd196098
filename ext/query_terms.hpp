// The terms of a query as one segment of an index numbers them, and what they add to the score of a document.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pi_rank {

// A term that the segment has, at its place in the query. A term that the query repeats is there as often.
struct QueryTerm {
    int32_t term;
    double idf;
};

// One document's distinct terms, and the code of each one's (frequency, length) pair.
struct DocumentTerms {
    const int32_t* terms;
    const int32_t* codes;
    size_t count;
};

// Finds the places of a term in the query: open addressing with linear probing, repetitions chained in order.
class QueryTerms {
public:
    explicit QueryTerms(const std::vector<QueryTerm>& terms) : terms_(terms), next_(terms.size(), NONE) {
        size_t size = 16;
        while (size < 2 * terms.size()) size *= 2;
        slots_.assign(size, NONE);
        for (size_t place = terms.size(); place-- > 0;) {
            int32_t& head = slots_[slot_of(terms[place].term)];
            next_[place] = head;
            head = int32_t(place);
        }
    }

    // Adds the document's BM25, its terms in the order of the query so that each sum is that of a search, and
    // the idf of the terms that it has.
    void score(const DocumentTerms& document, const double* impacts, double* score, double* idf) {
        found_.clear();
        for (size_t i = 0; i < document.count; ++i)
            for (int32_t place = slots_[slot_of(document.terms[i])]; place != NONE; place = next_[place])
                found_.push_back({place, document.codes[i]});
        std::sort(found_.begin(), found_.end());
        for (const Found& one : found_) {
            *score += terms_[one.place].idf * impacts[one.code];
            *idf += terms_[one.place].idf;
        }
    }

private:
    static constexpr int32_t NONE = -1;

    struct Found {
        int32_t place, code;
        bool operator<(const Found& other) const { return place < other.place; }
    };

    // Where the term is, or would be.
    size_t slot_of(int32_t term) const {
        const size_t mask = slots_.size() - 1;
        size_t at = (uint64_t(uint32_t(term)) * 0x9E3779B97F4A7C15u >> 32) & mask;
        while (slots_[at] != NONE && terms_[slots_[at]].term != term) at = (at + 1) & mask;
        return at;
    }

    const std::vector<QueryTerm>& terms_;
    std::vector<int32_t> next_;   // by place: the next place of the same term
    std::vector<int32_t> slots_;  // first place of a term
    std::vector<Found> found_;    // of one document; kept for the next
};

}  // namespace pi_rank
