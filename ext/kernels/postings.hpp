// What a segment of postings is made of: packed documents to terms and frequencies, and those to postings.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "flat_map.hpp"
#include "terms.hpp"

namespace pi_rank {

// Terms while a segment is made; the layout that Terms reads.
class Dictionary {
public:
    std::vector<uint8_t> blob;
    std::vector<int64_t> ends{0};
    std::vector<int32_t> slots = std::vector<int32_t>(16, -1);
    std::vector<uint8_t> function;  // by term: 1 for the stem of a function word

    // The term's id, a new one where it is new.
    int32_t intern(const uint8_t* text, int64_t length, bool is_function) {
        const int64_t slot = terms().slot_of(text, length);
        if (slots[size_t(slot)] >= 0) return slots[size_t(slot)];
        const int32_t term = int32_t(function.size());
        slots[size_t(slot)] = term;
        blob.insert(blob.end(), text, text + length);
        ends.push_back(int64_t(blob.size()));
        function.push_back(is_function);
        if (function.size() * 2 > slots.size()) grow();
        return term;
    }

private:
    Terms terms() const { return {slots.data(), int64_t(slots.size()), ends.data(), blob.data()}; }

    void grow() {
        slots.assign(slots.size() * 2, -1);
        for (size_t term = 0; term < function.size(); ++term)
            slots[size_t(terms().slot_of(blob.data() + ends[term], ends[term + 1] - ends[term]))] = int32_t(term);
    }
};

// The distinct (term frequency, document length) pairs, numbered in order of first use.
class Pairs {
public:
    std::vector<int32_t> frequency, length;

    int32_t code(int32_t frequency_, int32_t length_) {
        const uint64_t key = uint64_t(uint32_t(frequency_)) << 32 | uint32_t(length_);
        const uint32_t known = codes_.find(key);
        if (known != NONE) return int32_t(known);
        codes_.insert(key, uint32_t(frequency.size()));
        frequency.push_back(frequency_);
        length.push_back(length_);
        return int32_t(frequency.size() - 1);
    }

private:
    FlatMap codes_;
};

// Documents as lists of (term, frequency), one after another.
class ParsedDocuments {
public:
    Dictionary dictionary;
    std::vector<int32_t> terms, frequencies;
    std::vector<int64_t> ends{0};  // of each document's list, the first 0 is where the lists begin
    std::vector<int32_t> lengths, content;

    // Parses one packed document; false where it is not one (see analysis.pack_terms).
    bool add(const uint8_t* text, int64_t size) {
        int64_t length = 0;
        int32_t content_terms = 0;
        bool function = false;
        for (int64_t at = 0;; ++at) {
            const int64_t start = at;
            while (at < size && text[at] != ' ' && text[at] != ':' && text[at] != '\n') ++at;
            if (at > start) {
                const int64_t stop = at, frequency = frequency_at(text, size, at);
                length += frequency;
                if (frequency <= 0 || length > INT32_MAX) return false;
                if (!post(text + start, stop - start, int32_t(frequency), function)) return false;
                content_terms += !function;
            }
            if (at >= size) break;
            if (text[at] == '\n') {
                if (function) return false;
                function = true;
            } else if (text[at] != ' ' || at == start) {
                return false;
            }
        }
        if (function) end_document(int32_t(length), content_terms);
        return function;
    }

    // Adds one of a segment's terms to the document that is being added.
    void take(const uint8_t* stem, int64_t size, int32_t frequency, bool function) {
        terms.push_back(dictionary.intern(stem, size, function));
        frequencies.push_back(frequency);
    }

    void end_document(int32_t length, int32_t content_terms) {
        lengths.push_back(length);
        content.push_back(content_terms);
        ends.push_back(int64_t(terms.size()));
    }

private:
    // The count after a colon, 1 without one, -1 where it is no count; `at` moves past it.
    static int64_t frequency_at(const uint8_t* text, int64_t size, int64_t& at) {
        if (at >= size || text[at] != ':') return 1;
        int64_t count = 0;
        for (++at; at < size && '0' <= text[at] && text[at] <= '9'; ++at) {
            count = count * 10 + (text[at] - '0');
            if (count > INT32_MAX) return -1;
        }
        return count;
    }

    // False where the document has the term already, or an earlier one has it in the other half.
    bool post(const uint8_t* stem, int64_t size, int32_t frequency, bool function) {
        const int32_t document = int32_t(lengths.size());
        const size_t term = size_t(dictionary.intern(stem, size, function));
        if (term == last_document_.size()) last_document_.push_back(-1);
        if (last_document_[term] == document || bool(dictionary.function[term]) != function) return false;
        last_document_[term] = document;
        terms.push_back(int32_t(term));
        frequencies.push_back(frequency);
        return true;
    }

    std::vector<int32_t> last_document_;  // by term: the last that has it
};

// The first text that is no packed document, or -1.
inline int64_t parse(ParsedDocuments& documents, const std::vector<std::pair<const uint8_t*, int64_t>>& texts) {
    for (size_t i = 0; i < texts.size(); ++i)
        if (!documents.add(texts[i].first, texts[i].second)) return int64_t(i);
    return -1;
}

// Documents-to-terms into terms-to-documents, by counting sort. `offsets` comes as zeros, one more than there are
// terms; the others have an entry per posting: `document_codes` in the order of the documents.
inline void invert(const ParsedDocuments& documents, int32_t first_row, Pairs& pairs, int64_t* offsets,
                   int32_t* rows, int32_t* codes, int32_t* document_codes) {
    const size_t n_terms = documents.dictionary.function.size();
    for (const int32_t term : documents.terms) ++offsets[term + 1];
    for (size_t term = 0; term < n_terms; ++term) offsets[term + 1] += offsets[term];
    std::vector<int64_t> next_free(offsets, offsets + n_terms);
    for (size_t document = 0; document < documents.lengths.size(); ++document)
        for (int64_t i = documents.ends[document]; i < documents.ends[document + 1]; ++i) {
            const int64_t at = next_free[size_t(documents.terms[size_t(i)])]++;
            rows[at] = first_row + int32_t(document);
            codes[at] = document_codes[i] = pairs.code(documents.frequencies[size_t(i)], documents.lengths[document]);
        }
}

// A segment's postings: those of term t are [offsets[t], offsets[t + 1]).
struct Postings {
    const int64_t* offsets;
    int64_t n_terms;
    const int32_t* rows;
    const int32_t* codes;

    int64_t size(int64_t term) const { return term >= 0 && term < n_terms ? offsets[term + 1] - offsets[term] : 0; }
};

// Per term the postings of `first`, then those of `second`, whose terms and codes get other numbers. `offsets` has one
// entry more than there are terms.
inline void interleave(const Postings& first, const Postings& second, const int32_t* new_term,
                       const int32_t* new_code, int64_t n_terms, int64_t* offsets, int32_t* rows, int32_t* codes) {
    std::vector<int64_t> from_second(size_t(n_terms), -1);
    for (int64_t term = 0; term < second.n_terms; ++term) from_second[size_t(new_term[term])] = term;
    int64_t at = offsets[0] = 0;
    for (int64_t term = 0; term < n_terms; ++term) {
        if (const int64_t count = first.size(term)) {
            std::memcpy(rows + at, first.rows + first.offsets[term], size_t(count) * sizeof(int32_t));
            std::memcpy(codes + at, first.codes + first.offsets[term], size_t(count) * sizeof(int32_t));
            at += count;
        }
        const int64_t theirs = from_second[size_t(term)];
        if (const int64_t count = second.size(theirs)) {
            const int64_t begin = second.offsets[theirs];
            std::memcpy(rows + at, second.rows + begin, size_t(count) * sizeof(int32_t));
            for (int64_t i = 0; i < count; ++i) codes[at + i] = new_code[second.codes[begin + i]];
            at += count;
        }
        offsets[term + 1] = at;
    }
}

}  // namespace pi_rank
