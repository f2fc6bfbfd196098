// A set of byte strings with dense ids: open addressing with linear probing over one text arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pi_rank {

constexpr std::uint32_t NONE = UINT32_MAX;

inline std::uint64_t mix(std::uint64_t value) noexcept {  // the finaliser of MurmurHash3
    value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
    value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return value ^ (value >> 33);
}

inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
    std::uint64_t hash = bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        const std::size_t end = bytes.size() - at < 8 ? bytes.size() : at + 8;
        for (std::size_t i = at; i < end; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
        hash = mix(hash ^ word);
    }
    return hash;
}

class Interner {
  public:
    Interner() : slots_(16, Slot{0, NONE}), ends_{0} {}

    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ends_.size() - 1); }

    std::string_view operator[](std::uint32_t id) const noexcept {
        return {text_.data() + ends_[id], ends_[id + 1] - ends_[id]};
    }

    // The id of `key`, or NONE. Equal hashes are never trusted: the bytes are compared.
    std::uint32_t find(std::string_view key, std::uint64_t hash) const noexcept {
        return slots_[locate(key, hash)].id;
    }

    std::uint32_t add(std::string_view key, std::uint64_t hash) {
        std::size_t at = locate(key, hash);
        if (slots_[at].id != NONE) return slots_[at].id;
        if (2 * ends_.size() > slots_.size()) {
            grow();
            at = locate(key, hash);
        }
        text_.insert(text_.end(), key.begin(), key.end());
        ends_.push_back(text_.size());
        slots_[at] = Slot{tag_of(hash), size() - 1};
        return size() - 1;
    }

    std::size_t bytes() const noexcept {
        return slots_.capacity() * sizeof(Slot) + ends_.capacity() * sizeof(std::size_t) + text_.capacity();
    }

  private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t id;
    };

    static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

    std::size_t locate(std::string_view key, std::uint64_t hash) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at].id != NONE && !(slots_[at].tag == tag_of(hash) && (*this)[slots_[at].id] == key)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        std::vector<Slot> wider(slots_.size() * 2, Slot{0, NONE});
        const std::size_t mask = wider.size() - 1;
        for (std::uint32_t id = 0; id < size(); ++id) {
            const std::uint64_t hash = hash_bytes((*this)[id]);
            std::size_t at = hash & mask;
            while (wider[at].id != NONE) at = (at + 1) & mask;
            wider[at] = Slot{tag_of(hash), id};
        }
        slots_.swap(wider);
    }

    std::vector<Slot> slots_;  // a power of two, at most about half full
    std::vector<std::size_t> ends_;
    std::vector<char> text_;
};

}  // namespace pi_rank
