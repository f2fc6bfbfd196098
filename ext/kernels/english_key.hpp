// The prefix key of a token: the token without its English inflection. The rules are explained, and held to
// examples, in negative_scope.pyx; tests/reference/negative_scope.py has the same ones in plain Python.
#pragma once

#include <cstddef>
#include <string_view>

namespace pi_rank {

constexpr std::size_t MIN_KEY_LETTERS = 4;

// One token while its ending is worked on. `text` is UTF-8 and is edited in place; it only ever gets shorter.
class EnglishKey {
  public:
    EnglishKey(char* text, std::size_t size, std::size_t letters) noexcept
        : text_(text), size_(size), letters_(letters) {}

    // Returns the size of the key in bytes.
    std::size_t reduce() noexcept {
        if (letters_ < MIN_KEY_LETTERS) return size_;
        strip_plural();
        if (!strip_verbal("ing")) strip_verbal("ed");
        strip_verbal("er");
        if (can_drop("ment")) drop(4);
        if (can_drop("e") && !is_short_stem(size_ - 1)) drop(1);
        undouble();
        if (last(0) == 'i') text_[size_ - 1] = 'y';
        return size_;
    }

  private:
    static bool is_vowel(char c) noexcept {
        return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
    }
    static bool is_consonant(char c) noexcept { return c >= 'a' && c <= 'z' && !is_vowel(c); }

    char last(std::size_t back) const noexcept { return back < size_ ? text_[size_ - 1 - back] : '\0'; }

    bool can_drop(std::string_view ending) const noexcept {
        return letters_ >= MIN_KEY_LETTERS + ending.size() &&
               std::string_view(text_ + size_ - ending.size(), ending.size()) == ending;
    }

    void drop(std::size_t count) noexcept {
        size_ -= count;
        letters_ -= count;
    }

    void strip_plural() noexcept {
        if (can_drop("s") && last(1) != 's' && last(1) != 'u') drop(1);
    }

    bool strip_verbal(std::string_view ending) noexcept {
        if (!can_drop(ending) || (ending[0] == 'e' && last(2) == 'e')) return false;
        drop(ending.size());
        if (is_short_stem(size_)) {
            text_[size_++] = 'e';
            ++letters_;
        } else {
            undouble();
        }
        return true;
    }

    void undouble() noexcept {
        if (letters_ > MIN_KEY_LETTERS && is_consonant(last(0)) && last(0) == last(1)) drop(1);
    }

    // Two or more consonants, one vowel, one consonant but w, x or y: "stat", "writ", "styl". English doubles
    // the last letter of such a verb (planned), so one that is not doubled has lost an e (stated).
    bool is_short_stem(std::size_t size) const noexcept {
        if (size < MIN_KEY_LETTERS) return false;
        const char end = text_[size - 1];
        const char middle = text_[size - 2];
        if (!is_consonant(end) || end == 'w' || end == 'x' || end == 'y') return false;
        if (!is_vowel(middle) && middle != 'y') return false;
        for (std::size_t i = 0; i + 2 < size; ++i) {
            if (!is_consonant(text_[i])) return false;
        }
        return true;
    }

    char* text_;
    std::size_t size_;
    std::size_t letters_;
};

// Turns the UTF-8 token at `text`, which has `letters` letters, into its key; returns the key's size in bytes.
inline std::size_t reduce_to_key(char* text, std::size_t size, std::size_t letters) noexcept {
    return EnglishKey(text, size, letters).reduce();
}

}  // namespace pi_rank
