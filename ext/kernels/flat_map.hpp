// A map from 64-bit keys to 32-bit values: open addressing with linear probing. UINT64_MAX is no valid key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interner.hpp"  // mix, NONE

namespace pi_rank {

class FlatMap {
  public:
    FlatMap() : slots_(16, Slot{EMPTY, NONE}) {}

    std::uint32_t find(std::uint64_t key) const noexcept { return slots_[locate(key)].value; }

    // False, and no change, where the key is there already.
    bool insert(std::uint64_t key, std::uint32_t value) {
        std::size_t at = locate(key);
        if (slots_[at].key == key) return false;
        if (2 * ++count_ > slots_.size()) {
            grow();
            at = locate(key);
        }
        slots_[at] = Slot{key, value};
        return true;
    }

    std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

  private:
    static constexpr std::uint64_t EMPTY = UINT64_MAX;
    struct Slot {
        std::uint64_t key;
        std::uint32_t value;
    };

    std::size_t locate(std::uint64_t key) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = mix(key) & mask;
        while (slots_[at].key != EMPTY && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2, Slot{EMPTY, NONE});
        slots_.swap(old);
        for (const Slot& slot : old) {
            if (slot.key != EMPTY) slots_[locate(slot.key)] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

}  // namespace pi_rank
