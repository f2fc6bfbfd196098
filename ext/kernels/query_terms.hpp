// The terms of a query as one segment of an index numbers them, and what they add to the score of a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "prefetch.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace pi_rank {

// A term that the segment has, at its place in the query. A term that the query repeats is there as often.
struct QueryTerm {
    int32_t term;
    double idf;
};

// The documents of a segment: each one's distinct terms, with the code of its (frequency, length) pair, and what
// BM25 makes of a code.
struct Documents {
    int64_t first_row, n_rows;
    const int64_t* offsets;
    const int32_t* terms;
    const int32_t* codes;
    const double* impacts;

    bool has(int32_t row) const { return row >= first_row && row < first_row + n_rows; }
};

inline size_t lowest_bit(uint64_t word) {
#if defined(_MSC_VER)
    unsigned long at;
    _BitScanForward64(&at, word);
    return at;
#else
    return size_t(__builtin_ctzll(word));
#endif
}

// Finds the places of a term in the query: open addressing with linear probing, repetitions chained in order.
class QueryTerms {
public:
    explicit QueryTerms(const std::vector<QueryTerm>& terms)
        : terms_(terms), next_(terms.size(), NONE), code_of_(terms.size()), is_found_(terms.size() / WORD + 1, 0) {
        size_t size = 64;
        while (size < SPARSE * terms.size()) size *= 2;
        slots_.assign(size, {NONE, NONE});
        for (size_t place = terms.size(); place-- > 0;) {
            Slot& slot = slot_of(terms[place].term);
            next_[place] = slot.place;
            slot = {terms[place].term, int32_t(place)};
        }
    }

    // Adds the BM25 of a row, its terms in the order of the query so that each sum is that of a search, and the
    // idf of the terms that it has.
    void score(const Documents& documents, int32_t row, double* score, double* idf) {
        const int64_t begin = documents.offsets[row - documents.first_row];
        const int64_t end = documents.offsets[row - documents.first_row + 1];
        found_.resize(size_t(end - begin));
        size_t count = 0;
        for (int64_t i = begin; i < end; ++i) {
            // Without a branch on what is found, which nobody can foresee.
            found_[count] = {slot_of(documents.terms[i]).place, documents.codes[i]};
            count += found_[count].place != NONE;
        }
        for (size_t i = 0; i < count; ++i)
            for (int32_t place = found_[i].place; place != NONE; place = next_[place]) {
                code_of_[place] = found_[i].code;
                is_found_[place / WORD] |= uint64_t(1) << (place % WORD);
            }
        for (size_t word = 0; word < is_found_.size(); ++word)
            for (; is_found_[word]; is_found_[word] &= is_found_[word] - 1) {  // leaves all of them 0
                const size_t place = word * WORD + lowest_bit(is_found_[word]);
                *score += terms_[place].idf * documents.impacts[code_of_[place]];
                *idf += terms_[place].idf;
            }
    }

private:
    static constexpr int32_t NONE = -1;
    static constexpr int32_t WORD = 64;
    static constexpr size_t SPARSE = 8;  // slots per term: the first one looked at is nearly always the right one

    struct Slot {
        int32_t term, place;
    };
    struct Found {
        int32_t place, code;
    };

    // Where the term is, or would be.
    Slot& slot_of(int32_t term) {
        const size_t mask = slots_.size() - 1;
        size_t at = (uint64_t(uint32_t(term)) * 0x9E3779B97F4A7C15u >> 32) & mask;
        while ((slots_[at].place != NONE) & (slots_[at].term != term)) at = (at + 1) & mask;
        return slots_[at];
    }

    const std::vector<QueryTerm>& terms_;
    std::vector<int32_t> next_;  // by place: the next place of the same term
    std::vector<Slot> slots_;    // a term and its first place
    // Of one document; the room is kept for the next.
    std::vector<Found> found_;
    std::vector<int32_t> code_of_;    // by place
    std::vector<uint64_t> is_found_;  // a bit by place
};

// Adds to the score, and to the idf, of each of the rows that is one of the documents.
inline void score_documents(const std::vector<QueryTerm>& asked, const Documents& documents, const int32_t* rows,
                            size_t n_rows, double* scores, double* idf) {
    constexpr size_t AHEAD = 8;       // rows between asking for one's terms and reading them
    constexpr size_t ASKED_FOR = 64;  // bytes of a document's terms: the processor fetches the rest by itself
    QueryTerms terms(asked);
    for (size_t i = 0; i < n_rows; ++i) {
        if (i + AHEAD < n_rows && documents.has(rows[i + AHEAD])) {
            const int64_t begin = documents.offsets[rows[i + AHEAD] - documents.first_row];
            prefetch(documents.terms + begin, ASKED_FOR);
            prefetch(documents.codes + begin, ASKED_FOR);
        }
        if (documents.has(rows[i])) terms.score(documents, rows[i], scores + i, idf + i);
    }
}

}  // namespace pi_rank
