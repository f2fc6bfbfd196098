// Which records hold the names of a query: whole, inside a longer name, or their parts in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "names.hpp"

namespace pi_rank {

// Keys ascending, equal ones by row; entry i says that row rows[i] holds a name with the key keys[i].
struct NameEntries {
    const KeyBits* keys;
    const std::int32_t* rows;
    std::size_t count;
};

// Entries, and where the keys with the same first bits begin: keys are hashes, so that each such bucket has a few.
class NameTable {
public:
    NameTable() = default;

    explicit NameTable(const NameEntries& entries) : entries_(entries) {
        std::size_t bits = 1;
        while ((std::size_t(4) << bits) < entries.count) ++bits;
        shift_ = 63 - bits;
        begins_.assign((std::size_t(1) << bits) + 1, std::uint32_t(entries.count));
        for (std::size_t i = entries.count; i-- > 0;) begins_[bucket(entries.keys[i])] = std::uint32_t(i);
        for (std::size_t b = begins_.size() - 1; b-- > 0;)
            if (begins_[b] > begins_[b + 1]) begins_[b] = begins_[b + 1];
    }

    const NameEntries& entries() const { return entries_; }
    std::size_t bytes() const { return begins_.size() * sizeof(std::uint32_t); }

    // Where the entries of the key begin, and one past the last.
    std::pair<const std::int32_t*, const std::int32_t*> rows(KeyBits key) const {
        std::size_t first = begins_[bucket(key)];
        while (first < entries_.count && entries_.keys[first] < key) ++first;
        std::size_t last = first;
        while (last < entries_.count && entries_.keys[last] == key) ++last;
        return {entries_.rows + first, entries_.rows + last};
    }

private:
    std::size_t bucket(KeyBits key) const { return std::size_t(key >> shift_); }

    NameEntries entries_{nullptr, nullptr, 0};
    std::size_t shift_ = 62;
    std::vector<std::uint32_t> begins_{0, 0, 0};
};

// What holding a query's name adds to a row's score. Whatever meaning and words can give is less than a step of 2. What
// ordinary prose has as well, and a part of a name that is spelled out, make a row a candidate and no more.
constexpr double WHOLE_SHARE = 6.0, RUN_SHARE = 4.0, PARTS_SHARE = 2.0, CANDIDATE_SHARE = 0.0;

struct NamedRow {
    std::int32_t row;
    double share;
    bool whole;  // has a name of the query whole, by itself or in a longer one
};

class NameSearch {
public:
    static constexpr std::size_t MOST_NAMES = 64;   // of a query: a pasted log has thousands
    static constexpr std::size_t MOST_WORDS = 128;  // of a query, in which names are spelled out and stand
    // What more rows hold than are ranked at all tells nothing apart. What ordinary prose has as well counts where
    // hardly any row has it; so does a spelled-out name, which is a guess.
    static constexpr std::size_t MOST_ROWS = 100, MOST_COMMON = 3, MOST_SPOKEN = 8;

    NameSearch(const std::vector<const NameTable*>& segments, const std::uint8_t* eligible)
        : segments_(segments), eligible_(eligible) {}

    // The rows, ascending.
    std::vector<NamedRow> find(const NameText& text) {
        std::vector<Span> words;
        std::size_t names = 0;
        text.pieces([&](const NamePiece& piece) {
            if (piece.is_name && names < MOST_NAMES) {
                ++names;
                add_name(text, piece, text.stands_out(piece.whole));
            }
            if (piece.is_name) words.push_back(NO_WORD);
            for (const Span part : piece.parts)
                if (!piece.is_name && !text.is_function(part)) words.push_back(part);
            return words.size() < MOST_WORDS;
        });
        if (words.size() > MOST_WORDS) words.resize(MOST_WORDS);
        add_spoken(text, words);
        return best();
    }

private:
    void add_name(const NameText& text, const NamePiece& name, bool alone) {
        if (name.is_common && !alone) {
            add(NameText::key(NameKey::WHOLE, text.of(name.core)), CANDIDATE_SHARE, MOST_COMMON);
            return;
        }
        const bool led = name.whole.begin < name.core.begin;
        const bool whole = add(NameText::key(NameKey::WHOLE, text.of(name.whole)), WHOLE_SHARE);
        const bool core = led && add(NameText::key(NameKey::WHOLE, text.of(name.core)), RUN_SHARE);
        const bool run = add(NameText::key(NameKey::RUN, text.of(name.core)), RUN_SHARE);
        bool parts = add(text.letters_key(name), PARTS_SHARE);
        const std::vector<Span> content = text.content(name.parts);
        if (content.size() >= 2) {
            parts |= add(text.key(NameKey::ORDER, content.data(), content.size()), PARTS_SHARE);
            if (content.size() <= NameText::MOST_PARTS)
                parts |= add(text.key(NameKey::PARTS, content.data(), content.size()), PARTS_SHARE);
        }
        if (whole || core || run || parts) return;
        // Nobody holds it: the longest names in it.
        std::size_t found = 0;
        text.sub_runs(name, [&](Span sub) {
            const std::size_t length = sub.end - sub.begin;
            if (length < found || !text.run_is_name(sub)) return;
            if (add(NameText::key(NameKey::WHOLE, text.of(sub)), PARTS_SHARE) ||
                add(NameText::key(NameKey::RUN, text.of(sub)), PARTS_SHARE))
                found = length;
        });
    }

    static constexpr Span NO_WORD{0, 0};  // a name stands here

    // Each name is found by any two neighbours of its parts as well: where those are unknown, nothing longer is known.
    void add_spoken(const NameText& text, const std::vector<Span>& words) {
        for (std::size_t first = 0; first + 1 < words.size(); ++first)
            for (std::size_t length = 2; length <= NameText::MOST_PARTS && first + length <= words.size(); ++length) {
                const Span last = words[first + length - 1];
                if (last.end == 0 || words[first].end == 0 || !is_known(text.key(NameKey::SPOKEN, &words[first], length))) break;
                add(text.key(NameKey::SPOKEN, &words[first], length), CANDIDATE_SHARE, MOST_SPOKEN);
                if (length > 2) add(text.key(NameKey::SPOKEN_ALL, &words[first], length), PARTS_SHARE, MOST_SPOKEN);
            }
    }

    bool is_known(KeyBits key) const {
        return std::any_of(segments_.begin(), segments_.end(), [&](const NameTable* segment) {
            const auto [begin, end] = segment->rows(key);
            return begin != end;
        });
    }

    // Whether few enough eligible rows have the key, and any has.
    bool add(KeyBits key, double share, std::size_t most = MOST_ROWS) {
        const std::size_t before = held_.size();
        for (const NameTable* segment : segments_) {
            const auto [begin, end] = segment->rows(key);
            for (const std::int32_t* at = begin; at != end; ++at) {
                const std::int32_t row = *at;
                if (!eligible_[row]) continue;
                if (held_.size() - before == most) {
                    held_.resize(before);
                    return false;
                }
                held_.push_back({row, share, share >= RUN_SHARE});
            }
        }
        return held_.size() > before;
    }

    // Each row once, with its best share.
    std::vector<NamedRow> best() {
        std::sort(held_.begin(), held_.end(), [](const NamedRow& a, const NamedRow& b) {
            return a.row != b.row ? a.row < b.row : a.share > b.share;
        });
        const auto same = [](const NamedRow& a, const NamedRow& b) { return a.row == b.row; };
        held_.erase(std::unique(held_.begin(), held_.end(), same), held_.end());
        return std::move(held_);
    }

    const std::vector<const NameTable*>& segments_;
    const std::uint8_t* eligible_;
    std::vector<NamedRow> held_;
};

// The entries of two segments as one.
inline void merge_names(const NameEntries& first, const NameEntries& second, KeyBits* keys, std::int32_t* rows) {
    std::size_t a = 0, b = 0;
    for (std::size_t at = 0; at < first.count + second.count; ++at) {
        const bool from_first = b == second.count || (a < first.count && first.keys[a] <= second.keys[b]);
        const NameEntries& from = from_first ? first : second;
        std::size_t& next = from_first ? a : b;
        keys[at] = from.keys[next];
        rows[at] = from.rows[next++];
    }
}

}  // namespace pi_rank
