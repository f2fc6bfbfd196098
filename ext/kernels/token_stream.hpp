// Text to tokens: one pass over normalised characters, into one UTF-8 arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "english_key.hpp"
#include "interner.hpp"

namespace pi_rank {

enum CharacterClass : std::uint8_t { UNKNOWN, SEPARATOR, LETTER, DIGIT, MARK, IGNORED, UNSPACED };

enum class TokenKind : std::uint8_t { CONTENT, FUNCTION, BREAK };  // BREAK: the end of a field

struct Token {
    std::size_t begin;
    std::uint64_t hash;
    std::uint32_t size;
    TokenKind kind;
};

class TokenStream {
  public:
    // With `function_words`, content tokens are reduced to their prefix keys; without, all stay as written.
    explicit TokenStream(const Interner* function_words = nullptr) : function_words_(function_words) {}

    const std::vector<Token>& tokens() const noexcept { return tokens_; }

    std::string_view text(const Token& token) const noexcept {
        return {text_.data() + token.begin, token.size};
    }

    void clear() noexcept {
        text_.clear();
        tokens_.clear();
        begin_ = 0;
    }

    // `classes` holds the class of every character of the text, by code point. A to Z are lowered here, so that
    // ASCII text needs no copy; other text comes normalised and casefolded.
    template <class Character>
    void scan(const Character* characters, std::size_t count, const std::uint8_t* classes) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t character = characters[i];
            const std::uint8_t kind = classes[character];
            if (kind == IGNORED || (kind == MARK && !open_)) continue;
            if (kind == SEPARATOR || kind == UNSPACED || (unspaced_ && kind != MARK)) close();
            if (kind == SEPARATOR) continue;
            append(character);
            open_ = true;
            unspaced_ = kind == UNSPACED || (unspaced_ && kind == MARK);
            letters_ += kind == LETTER || kind == UNSPACED;
        }
        close();
    }

    void end_field() { tokens_.push_back({text_.size(), 0, 0, TokenKind::BREAK}); }

  private:
    void append(std::uint32_t c) {
        if (c < 0x80) {
            push(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        } else if (c < 0x800) {
            push(0xC0 | c >> 6);
            push(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            push(0xE0 | c >> 12);
            push(0x80 | (c >> 6 & 0x3F));
            push(0x80 | (c & 0x3F));
        } else {
            push(0xF0 | c >> 18);
            push(0x80 | (c >> 12 & 0x3F));
            push(0x80 | (c >> 6 & 0x3F));
            push(0x80 | (c & 0x3F));
        }
    }

    void push(std::uint32_t byte) { text_.push_back(static_cast<char>(byte)); }

    void close() {
        if (!open_) return;
        Token token{begin_, 0, static_cast<std::uint32_t>(text_.size() - begin_), TokenKind::CONTENT};
        if (function_words_ != nullptr) classify(token);
        tokens_.push_back(token);
        begin_ = text_.size();
        letters_ = 0;
        open_ = unspaced_ = false;
    }

    void classify(Token& token) {
        token.hash = hash_bytes(text(token));
        if (function_words_->find(text(token), token.hash) != NONE) {
            token.kind = TokenKind::FUNCTION;
            return;
        }
        token.size = static_cast<std::uint32_t>(reduce_to_key(&text_[token.begin], token.size, letters_));
        token.hash = hash_bytes(text(token));
        text_.resize(token.begin + token.size);
    }

    const Interner* function_words_;
    std::vector<char> text_;
    std::vector<Token> tokens_;
    std::size_t begin_ = 0;
    std::size_t letters_ = 0;
    bool open_ = false;
    bool unspaced_ = false;
};

}  // namespace pi_rank
