// Names in a text (identifiers, paths, versions, tickets), and the keys by which a record is found by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "interner.hpp"

namespace pi_rank {

// How a name is looked for. WHOLE: as it stands. RUN: inside a longer name, from one of its marks to another. ORDER: all
// parts of it, PARTS: two to four neighbouring ones, whatever stands between. SPOKEN, SPOKEN_ALL: those of names in
// camelCase, which a plain sentence may spell out. LETTERS: its letters and digits alone.
enum class NameKey : std::uint64_t { WHOLE = 1, RUN, ORDER, PARTS, SPOKEN, SPOKEN_ALL, LETTERS };

// A key is 63 bits of a hash: equal keys are taken for equal names, since a chance meeting of two names among a million
// has odds of one to ten million, and would put one record too many to the front.
using KeyBits = std::int64_t;

struct Span {
    std::uint32_t begin, end;
};

// A word of a text, or a name. `core` is without marks around it; `whole` with those before it.
struct NamePiece {
    Span whole, core;
    std::vector<Span> runs;   // between marks
    std::vector<Span> parts;  // of the runs, cut at capital letters as well
    bool is_name = false;
    bool is_camel = false;  // a run is cut at a capital letter
    bool is_common = false;  // has a form that ordinary prose has too: e-mail, 12:30, GitHub, 2024, 18th
};

class NameText {
public:
    static constexpr std::size_t MOST_BYTES = 256;  // of a name: a longer piece is data
    static constexpr std::size_t MOST_RUNS = 8;     // all of whose sub-runs are keys; of longer names, ends only
    static constexpr std::size_t MOST_PARTS = 4;    // of a PARTS key
    static constexpr std::string_view QUOTES = "`'\"";

    // `text` is UTF-8. Bytes above 0x7F are letters: who calls has made a blank of every other character.
    NameText(std::string_view text, const Interner& function_words) : text_(text), function_words_(function_words) {}

    std::string_view of(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

    // Whether the span is quoted, or nothing but blanks and punctuation stands around it.
    bool stands_out(Span span) const {
        const auto stray = [this](std::size_t from, std::size_t to) {
            return std::any_of(text_.begin() + std::ptrdiff_t(from), text_.begin() + std::ptrdiff_t(to), is_word);
        };
        const auto quote = [this](std::size_t at) { return at < text_.size() && QUOTES.find(text_[at]) != QUOTES.npos; };
        return (quote(span.begin - 1) && quote(span.end)) || (!stray(0, span.begin) && !stray(span.end, text_.size()));
    }

    // Calls `take(NamePiece)` for each piece, in order; it returns false to stop.
    template <class Take>
    void pieces(Take&& take) const {
        const std::size_t size = text_.size();
        for (std::size_t at = 0; at < size;) {
            if (!is_inside(text_[at])) {
                ++at;
                continue;
            }
            const std::size_t begin = at;
            bool high = false;
            while (at < size && is_inside(text_[at])) high |= is_high(text_[at++]);
            if (!pieces_of(begin, at, high, take)) return;
        }
    }

    // Calls `take(key)` for each key of a name in a record.
    template <class Take>
    void record_keys(const NamePiece& name, Take&& take) const {
        take(key(NameKey::WHOLE, of(name.core)));
        if (name.whole.begin < name.core.begin) take(key(NameKey::WHOLE, of(name.whole)));
        sub_runs(name, [&](Span run) {
            if (run_is_name(run)) take(key(NameKey::RUN, of(run)));
        });
        take(letters_key(name));
        part_keys(content(name.parts), NameKey::ORDER, NameKey::PARTS, take);
        if (name.is_camel) part_keys(content(name.parts), NameKey::SPOKEN_ALL, NameKey::SPOKEN, take);
    }

    // Parts without function words; all of them where fewer than two are left.
    std::vector<Span> content(const std::vector<Span>& parts) const {
        std::vector<Span> kept;
        for (const Span part : parts)
            if (!is_function(part)) kept.push_back(part);
        return kept.size() < 2 ? parts : kept;
    }

    // The proper sub-runs of a name, longest first: of long names those that begin or end it.
    template <class Take>
    void sub_runs(const NamePiece& name, Take&& take) const {
        const std::size_t count = name.runs.size();
        for (std::size_t length = count; length >= 1; --length)
            for (std::size_t first = 0; first + length <= count; ++first) {
                if (count > MOST_RUNS && first != 0 && first + length != count) continue;
                const Span run{name.runs[first].begin, name.runs[first + length - 1].end};
                if (run.begin != name.core.begin || run.end != name.core.end) take(run);
            }
    }

    // Whether a run of a name is one by itself.
    bool run_is_name(Span span) const { return piece(span.begin, span.end).is_name; }

    static KeyBits key(NameKey kind, std::string_view text) {
        Hash hash(kind);
        for (const char c : text) hash.take(lower(c));
        return hash.done();
    }

    KeyBits key(NameKey kind, const Span* parts, std::size_t count) const {
        Hash hash(kind);
        for (std::size_t i = 0; i < count; ++i) {
            for (const char c : of(parts[i])) hash.take(lower(c));
            hash.take('\x1F');
        }
        return hash.done();
    }

    KeyBits letters_key(const NamePiece& name) const {
        Hash hash(NameKey::LETTERS);
        for (const Span run : name.runs)
            for (const char c : of(run)) hash.take(lower(c));
        return hash.done();
    }

    bool is_function(Span part) const {
        char lowered[16];
        const std::string_view text = of(part);
        if (text.size() > sizeof lowered) return false;
        std::transform(text.begin(), text.end(), lowered, lower);
        const std::string_view word(lowered, text.size());
        return function_words_.find(word, hash_bytes(word)) != NONE;
    }

private:
    class Hash {  // 64-bit FNV-1a, mixed at the end
    public:
        explicit Hash(NameKey kind) : value_(0xCBF29CE484222325u ^ (std::uint64_t(kind) * 0x9E3779B97F4A7C15u)) {}
        void take(char c) { value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u; }
        KeyBits done() const { return KeyBits(mix(value_) >> 1); }

    private:
        std::uint64_t value_;
    };

    static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }
    static bool is_lower(char c) { return (c >= 'a' && c <= 'z') || is_high(c); }
    static bool is_word(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
    static bool is_mark(char c) { return c != '\0' && std::string_view("_./\\-:#@+~$").find(c) != std::string_view::npos; }
    static bool is_inside(char c) { return is_word(c) || is_mark(c); }
    static char lower(char c) { return is_upper(c) ? char(c | 0x20) : c; }

    // A piece with letters beyond ASCII is looked at as it stands, then each run of ASCII in it by itself: words of
    // scripts without spaces, and endings of others, stand right beside a name.
    template <class Take>
    bool pieces_of(std::size_t begin, std::size_t end, bool high, Take&& take) const {
        NamePiece found = piece(begin, end);
        const bool marked = found.runs.size() > 1 || !high;
        if (!found.runs.empty() && (!high || (found.is_name && marked)) && !take(found)) return false;
        for (std::size_t at = begin; high && at < end;) {
            if (is_high(text_[at])) {
                ++at;
                continue;
            }
            const std::size_t first = at;
            while (at < end && !is_high(text_[at])) ++at;
            NamePiece ascii = piece(first, at);
            if (!ascii.runs.empty() && !take(ascii)) return false;
        }
        return true;
    }

    NamePiece piece(std::size_t begin, std::size_t end) const {
        NamePiece found;
        std::size_t core = begin;
        while (core < end && !is_word(text_[core]) && text_[core] != '_') ++core;
        while (end > core && is_loose(text_[end - 1])) --end;
        found.whole = {std::uint32_t(begin), std::uint32_t(end)};
        found.core = {std::uint32_t(core), std::uint32_t(end)};
        if (end - begin > MOST_BYTES) return found;
        for (std::size_t at = core; at < end;) {
            if (!is_word(text_[at])) {
                ++at;
                continue;
            }
            const std::size_t first = at;
            while (at < end && is_word(text_[at])) ++at;
            found.runs.push_back({std::uint32_t(first), std::uint32_t(at)});
            add_parts(first, at, found);
        }
        found.is_name = !found.runs.empty() && looks_like_a_name(found);
        found.is_common = found.is_name && looks_common(found);
        return found;
    }

    // What ends a piece and is a sentence's, not the name's: all marks but those of `x_`, `C++`, `C#`.
    static bool is_loose(char c) { return !is_word(c) && c != '_' && c != '+' && c != '#'; }

    void add_parts(std::size_t first, std::size_t end, NamePiece& found) const {
        std::size_t begin = first;
        for (std::size_t at = first + 1; at < end; ++at) {
            const bool up = is_upper(text_[at]);
            // fooBar, HTTPServer; but not IDs
            const bool cut = up && (!is_upper(text_[at - 1]) ||
                                    (at + 2 < end && is_lower(text_[at + 1]) && is_lower(text_[at + 2])));
            if (!cut) continue;
            found.parts.push_back({std::uint32_t(begin), std::uint32_t(at)});
            found.is_camel = true;
            begin = at;
        }
        found.parts.push_back({std::uint32_t(begin), std::uint32_t(end)});
    }

    bool looks_like_a_name(const NamePiece& found) const {
        std::size_t digits = 0, letters = 0;
        bool word = false;
        for (const Span run : found.runs) {
            for (const char c : of(run)) ++(is_digit(c) ? digits : letters);
            word |= run.end - run.begin > 1 && !is_function(run);
        }
        const bool led = found.whole.begin < found.core.begin;
        if (digits && (letters || digits >= 3 || found.runs.size() > 1)) return true;
        if (digits && led && text_[found.core.begin - 1] == '#') return true;
        if (found.is_camel || found.core.begin < found.runs[0].begin || found.core.end > found.runs.back().end)
            return true;  // camelCase, _private, C++
        return word && (found.runs.size() > 1 || led);
    }

    bool looks_common(const NamePiece& found) const {
        std::size_t digits = 0, letters = 0;
        bool hyphens = true, joined = false;
        for (std::size_t at = found.core.begin; at < found.core.end; ++at) {
            digits += is_digit(text_[at]);
            letters += is_word(text_[at]) && !is_digit(text_[at]);
            hyphens &= is_word(text_[at]) || text_[at] == '-';
            joined |= text_[at] == '_';
        }
        const std::size_t runs = found.runs.size();
        const std::size_t lead = found.core.begin - found.whole.begin;
        if (joined || (lead && (text_[found.core.begin - 1] == '@' || text_[found.core.begin - 1] == '#' || lead > 1)))
            return false;  // foo_bar, @acme/kit, #12, --force
        if (found.core.end - found.core.begin <= 3) return true;
        if (!digits) {
            if (!found.is_camel) return runs <= 2 ? !is_scope(found) : hyphens;
            const Span first = found.parts[0];
            if (runs > 1) return false;
            return is_upper(text_[first.begin]) ? found.parts.size() == 2 : first.end - first.begin == 1;
        }
        if (!letters) return runs <= 2;
        if (runs == 1) return is_ordinal(of(found.runs[0]));
        return runs == 2 && hyphens && is_number(of(found.runs[0])) && is_word_of_prose(of(found.runs[1]));  // 24-hour
    }

    // Whether `::` stands between the two runs.
    bool is_scope(const NamePiece& found) const {
        return found.runs.size() == 2 && found.runs[1].begin - found.runs[0].end == 2 && text_[found.runs[0].end] == ':';
    }

    static bool is_number(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }
    static bool is_word_of_prose(std::string_view text) { return std::all_of(text.begin(), text.end(), is_lower); }

    static bool is_ordinal(std::string_view text) {  // 18th
        const std::size_t digits = std::size_t(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
        const std::string_view end = text.substr(digits);
        return digits > 0 && (end == "st" || end == "nd" || end == "rd" || end == "th");
    }

    template <class Take>
    void part_keys(const std::vector<Span>& parts, NameKey all, NameKey some, Take&& take) const {
        if (parts.size() < 2) return;
        take(key(all, parts.data(), parts.size()));
        for (std::size_t length = 2; length <= MOST_PARTS && length <= parts.size(); ++length)
            for (std::size_t first = 0; first + length <= parts.size(); ++first)
                take(key(some, parts.data() + first, length));
    }

    std::string_view text_;
    const Interner& function_words_;
};

}  // namespace pi_rank
