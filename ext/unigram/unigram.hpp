// A unigram language model's best segmentation of a text (Kudo 2018, arXiv:1804.10959), as SentencePiece has it: of all
// ways to cut a text into pieces of the vocabulary, the one whose logarithms of probability add up highest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

namespace pi_unigram {

constexpr size_t HEADER = 32;
constexpr double UNKNOWN_PENALTY = 10;  // below the least likely piece, for a character that no piece has

// A file as pointers into it (pi_rank/embedding/fetched/unigram_file.py writes and describes it). Pieces lie in the
// order of their bytes, so that those that begin alike lie together.
class Vocabulary {
public:
    // Throws std::invalid_argument where the file is none, is cut short, or says what cannot be. It stays where it is.
    Vocabulary(const uint8_t* data, size_t size) {
        if (size < HEADER || std::memcmp(data, "PIRKUNI1", 8) != 0)
            throw std::invalid_argument("is no unigram file of this version");
        uint32_t counts[5];
        std::memcpy(counts, data + 8, sizeof counts);
        count_ = counts[0];
        bytes_ = counts[1];
        first = static_cast<int32_t>(counts[2]);
        last = static_cast<int32_t>(counts[3]);
        unknown = static_cast<int32_t>(counts[4]);
        if (count_ == 0 || count_ > (1u << 22) || size != HEADER + 4 + 12 * count_ + bytes_)
            throw std::invalid_argument("is cut short, or longer than its header says");
        scores_ = reinterpret_cast<const float*>(data + HEADER);
        ids_ = reinterpret_cast<const int32_t*>(scores_ + count_);
        starts_ = reinterpret_cast<const uint32_t*>(ids_ + count_);
        text_ = reinterpret_cast<const uint8_t*>(starts_ + count_ + 1);
        check();
        for (uint32_t i = 0, byte = 0; byte <= 256; ++byte) {
            while (i < count_ && text_[starts_[i]] < byte) ++i;
            from_[byte] = i;
        }
    }

    size_t size() const { return ids; }

    // Calls found(end, id, score) for each piece that is a beginning of text[0, size).
    template <class F>
    void pieces_at(const uint8_t* text, size_t size, F found) const {
        if (size == 0) return;
        uint32_t low = from_[text[0]], high = from_[text[0] + 1u];
        for (size_t length = 1; low < high; ++length) {
            if (length_of(low) == length) {
                found(length, ids_[low], scores_[low]);
                ++low;
            }
            if (length == size) return;
            const uint8_t next = text[length];
            low = boundary(low, high, length, next);
            high = next == 255 ? high : boundary(low, high, length, next + 1u);
        }
    }

    size_t ids = 0;  // one more than the largest id, those that are never cut from a text with them
    int32_t first, last, unknown;
    float least = 0;  // the lowest score

private:
    size_t length_of(uint32_t piece) const { return starts_[piece + 1] - starts_[piece]; }

    // The first piece of [low, high), all longer than `at` bytes, whose byte there is at least `byte`.
    uint32_t boundary(uint32_t low, uint32_t high, size_t at, uint32_t byte) const {
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (text_[starts_[middle] + at] < byte)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    void check() {
        int32_t largest = std::max({first, last, unknown});
        if (std::min({first, last, unknown}) < 0) throw std::invalid_argument("lacks a mark");
        if (starts_[0] != 0 || starts_[count_] != bytes_) throw std::invalid_argument("holds a place outside it");
        for (uint32_t i = 0; i < count_; ++i) {
            if (starts_[i] >= starts_[i + 1] || starts_[i + 1] > bytes_)
                throw std::invalid_argument("holds a piece of no length, or a place outside it");
            if (i && !before(i - 1, i)) throw std::invalid_argument("holds pieces out of order");
            if (!(std::abs(scores_[i]) < 1e6f)) throw std::invalid_argument("holds a score that is none");
            if (ids_[i] < 0 || ids_[i] >= (1 << 22)) throw std::invalid_argument("holds an id that is none");
            largest = std::max(largest, ids_[i]);
            least = i ? std::min(least, scores_[i]) : scores_[i];
        }
        if (largest >= (1 << 22)) throw std::invalid_argument("holds an id that is none");
        ids = static_cast<size_t>(largest) + 1;
    }

    bool before(uint32_t a, uint32_t b) const {
        const size_t shorter = std::min(length_of(a), length_of(b));
        const int order = std::memcmp(text_ + starts_[a], text_ + starts_[b], shorter);
        return order < 0 || (order == 0 && length_of(a) < length_of(b));
    }

    uint32_t count_ = 0, bytes_ = 0;
    const float* scores_ = nullptr;
    const int32_t* ids_ = nullptr;
    const uint32_t* starts_ = nullptr;
    const uint8_t* text_ = nullptr;
    uint32_t from_[257];  // where pieces begin whose first byte is at least this
};

inline size_t character(const uint8_t* at, size_t left) {  // bytes of the character that begins there
    const size_t bytes = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    return std::min(bytes, left);
}

// Appends the ids of the best segmentation. Unknown characters side by side are one unknown token.
inline void cut(const uint8_t* text, size_t size, const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
    struct Best {
        double score;
        uint32_t from;
        int32_t id;
    };
    constexpr double NEVER = -std::numeric_limits<double>::infinity();
    std::vector<Best> best(size + 1, {NEVER, 0, -1});
    best[0].score = 0;
    const double unknown = static_cast<double>(vocabulary.least) - UNKNOWN_PENALTY;
    for (size_t at = 0; at < size;) {
        const size_t step = character(text + at, size - at);
        bool alone = false;  // a piece of this one character
        const auto better = [&](size_t end, int32_t id, double score) {
            if (score > best[end].score) best[end] = {score, static_cast<uint32_t>(at), id};
        };
        vocabulary.pieces_at(text + at, size - at, [&](size_t length, int32_t id, float score) {
            alone = alone || length == step;
            better(at + length, id, best[at].score + static_cast<double>(score));
        });
        if (!alone) better(at + step, vocabulary.unknown, best[at].score + unknown);
        at += step;
    }
    const size_t begin = ids.size();
    for (size_t end = size; end > 0; end = best[end].from) {
        const int32_t id = best[end].id;
        if (id != vocabulary.unknown || ids.size() == begin || ids.back() != id) ids.push_back(id);
    }
    std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end());
}

}  // namespace pi_unigram
