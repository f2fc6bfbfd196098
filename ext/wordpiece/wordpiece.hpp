// WordPiece as BERT has it: words are cut into the longest pieces that a vocabulary has, from the left; a word with a
// rest that it has not is unknown as a whole. Wu et al. 2016 (arXiv:1609.08144), Devlin et al. 2018 (arXiv:1810.04805).
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "wordpiece/characters.hpp"

namespace pi_wordpiece {

constexpr size_t LONGEST_WORD = 100;  // characters; a longer one is unknown

// A token's string, "##" of a piece inside a word taken off.
struct Token {
    const char* text;
    uint32_t size;
    bool inside;
};

class Vocabulary {
public:
    // One string a line, its number the id. Throws std::invalid_argument where one is twice there, empty, or where
    // one of BERT's own tokens is missing. The strings must stay where they are.
    Vocabulary(const char* lines, size_t size) {
        const char* end = lines + size;
        for (const char* at = lines; at <= end && size;) {
            const char* stop = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
            if (!stop) stop = end;
            const bool inside = stop - at > 2 && at[0] == '#' && at[1] == '#';
            tokens_.push_back({at + 2 * inside, static_cast<uint32_t>(stop - at - 2 * inside), inside});
            at = stop + 1;
        }
        size_t slots = 256;
        while (slots < 2 * tokens_.size()) slots *= 2;
        slots_.assign(slots, -1);
        for (size_t id = 0; id < tokens_.size(); ++id) add(static_cast<int32_t>(id));
        const char* const names[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
        for (size_t i = 0; i < 5; ++i) {
            marks[i] = find(names[i], std::strlen(names[i]), false);
            if (marks[i] < 0) throw std::invalid_argument(std::string("has no token ") + names[i]);
        }
    }

    size_t size() const { return tokens_.size(); }

    static uint64_t hash_start(bool inside) { return inside ? 0x51ED270B35A1C7E9u : 0x2545F4914F6CDD1Du; }
    static uint64_t hash_step(uint64_t hash, char byte) {
        return (hash ^ static_cast<uint8_t>(byte)) * 0x9E3779B97F4A7C15u;
    }

    // The id of the token with this text, whose bytes have gone through `hash_step`; or -1.
    int32_t find(const char* text, size_t size, bool inside, uint64_t hash) const {
        for (size_t slot = hash >> 32;; ++slot) {
            const int32_t id = slots_[slot & (slots_.size() - 1)];
            if (id < 0) return -1;
            const Token& token = tokens_[static_cast<size_t>(id)];
            if (token.size == size && token.inside == inside && std::memcmp(token.text, text, size) == 0)
                return id;
        }
    }

    int32_t find(const char* text, size_t size, bool inside) const {
        uint64_t hash = hash_start(inside);
        for (size_t i = 0; i < size; ++i) hash = hash_step(hash, text[i]);
        return find(text, size, inside, hash);
    }

    size_t longest() const { return longest_; }  // bytes of a token

    int32_t marks[5];  // ids of [UNK], [CLS], [SEP], [PAD], [MASK]

private:
    void add(int32_t id) {
        const Token& token = tokens_[static_cast<size_t>(id)];
        if (token.size == 0) throw std::invalid_argument("has an empty token");
        if (find(token.text, token.size, token.inside) >= 0)
            throw std::invalid_argument("has a token twice: " + std::string(token.text, token.size));
        uint64_t hash = hash_start(token.inside);
        for (uint32_t i = 0; i < token.size; ++i) hash = hash_step(hash, token.text[i]);
        size_t slot = hash >> 32;
        while (slots_[slot & (slots_.size() - 1)] >= 0) ++slot;
        slots_[slot & (slots_.size() - 1)] = id;
        longest_ = std::max<size_t>(longest_, token.size);
    }

    std::vector<Token> tokens_;
    std::vector<int32_t> slots_;
    size_t longest_ = 0;
};

// Collects the characters of one word after the other and writes the ids of its pieces.
class Words {
public:
    Words(const Vocabulary& vocabulary, std::vector<int32_t>& ids) : vocabulary_(vocabulary), ids_(ids) {}

    void letter(uint32_t code) {
        if (ends_.size() < LONGEST_WORD) {
            if (code < 0x80) {
                bytes_.push_back(static_cast<char>(code));
            } else if (code < 0x800) {
                push(0xC0 | code >> 6, code);
            } else if (code < 0x10000) {
                bytes_.push_back(static_cast<char>(0xE0 | code >> 12));
                push(0x80 | (code >> 6 & 0x3F), code);
            } else {
                bytes_.push_back(static_cast<char>(0xF0 | code >> 18));
                bytes_.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
                push(0x80 | (code >> 6 & 0x3F), code);
            }
            ends_.push_back(bytes_.size());
        } else {
            too_long_ = true;
        }
    }

    void end() {
        if (ends_.empty()) return;
        const size_t before = ids_.size();
        if (too_long_ || !pieces()) {
            ids_.resize(before);
            ids_.push_back(vocabulary_.marks[0]);
        }
        bytes_.clear();
        ends_.clear();
        too_long_ = false;
    }

    void mark(int32_t id) {
        end();
        ids_.push_back(id);
    }

private:
    void push(uint32_t head, uint32_t code) {
        bytes_.push_back(static_cast<char>(head));
        bytes_.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }

    // False where a rest of the word is in no token.
    bool pieces() {
        const char* word = bytes_.data();
        size_t begin = 0, first = 0;  // byte and character where the next piece begins
        while (first < ends_.size()) {
            const bool inside = begin > 0;
            uint64_t hash = Vocabulary::hash_start(inside);
            hashes_.clear();
            size_t at = begin;
            for (size_t c = first; c < ends_.size() && ends_[c] - begin <= vocabulary_.longest(); ++c) {
                for (; at < ends_[c]; ++at) hash = Vocabulary::hash_step(hash, word[at]);
                hashes_.push_back(hash);
            }
            int32_t id = -1;
            size_t length = hashes_.size();
            for (; length > 0; --length) {
                const size_t size = ends_[first + length - 1] - begin;
                id = vocabulary_.find(word + begin, size, inside, hashes_[length - 1]);
                if (id >= 0) break;
            }
            if (id < 0) return false;
            ids_.push_back(id);
            first += length;
            begin = ends_[first - 1];
        }
        return true;
    }

    const Vocabulary& vocabulary_;
    std::vector<int32_t>& ids_;
    std::vector<char> bytes_;
    std::vector<size_t> ends_;  // of each character, in bytes
    std::vector<uint64_t> hashes_;
    bool too_long_ = false;
};

// A Python string as it lies: one, two or four bytes a character.
struct Text {
    const void* data;
    size_t size;
    int width;
};

template <class Char>
inline size_t mark_length(const Char* text, size_t size, const char* name) {
    size_t i = 0;
    for (; name[i]; ++i)
        if (i >= size || text[i] != static_cast<Char>(name[i])) return 0;
    return i;
}

template <class Char>
inline void cut(const Char* text, size_t size, const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
    static const char* const names[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
    const Fates& known = fates();
    Words words(vocabulary, ids);
    for (size_t i = 0; i < size; ++i) {
        uint32_t code = text[i];
        if (code == '[') {
            size_t length = 0;
            for (int m = 0; m < 5 && !length; ++m)
                if ((length = mark_length(text + i, size - i, names[m]))) words.mark(vocabulary.marks[m]);
            if (length) {
                i += length - 1;
                continue;
            }
        }
        if (code >= 0xD800 && code < 0xE000) {  // a pair is one character, and what is alone is none
            const uint32_t next = i + 1 < size ? text[i + 1] : 0;
            if (code >= 0xDC00 || next < 0xDC00 || next >= 0xE000) continue;
            code = 0x10000 + ((code - 0xD800) << 10) + (next - 0xDC00);
            ++i;
        }
        if (code >= HANGUL && code < HANGUL + HANGUL_COUNT) {
            const uint32_t s = code - HANGUL;
            words.letter(0x1100 + s / 588);
            words.letter(0x1161 + s % 588 / 28);
            if (s % 28) words.letter(0x11A7 + s % 28);
            continue;
        }
        const Fate fate = known.of(code);
        switch (fate.kind) {
            case LETTER:
                words.letter(fate.result);
                break;
            case DROPPED:
                break;
            case SPACE:
                words.end();
                break;
            case ALONE:
                words.end();
                words.letter(fate.result);
                words.end();
                break;
            case SEVERAL:
                for (uint32_t c : SEVERAL_RESULTS[fate.result])
                    if (c) words.letter(c);
                break;
        }
    }
    words.end();
}

// Appends the ids of a text's tokens.
inline void encode(const Text& text, const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
    if (text.width == 1)
        cut(static_cast<const uint8_t*>(text.data), text.size, vocabulary, ids);
    else if (text.width == 2)
        cut(static_cast<const uint16_t*>(text.data), text.size, vocabulary, ids);
    else
        cut(static_cast<const uint32_t*>(text.data), text.size, vocabulary, ids);
}

}  // namespace pi_wordpiece
