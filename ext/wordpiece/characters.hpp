// What BERT's normalizer makes of a character: dropped (control characters, accents), a space, a word of its own
// (punctuation, Chinese characters), or a letter or several, in lower case and without accents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pi_wordpiece {

enum Kind : uint8_t { LETTER, DROPPED, SPACE, ALONE, SEVERAL };

struct Run {
    uint32_t first, last;
    uint8_t step, kind;
    int32_t distance;
};

#include "wordpiece/table.inc"

struct Fate {
    Kind kind;
    uint32_t result;  // of a letter or what stands alone; the place in SEVERAL_RESULTS of several
};

constexpr uint32_t HANGUL = 0xAC00, HANGUL_COUNT = 11172;

inline Fate look_up(uint32_t code) {
    const Run* run = std::upper_bound(std::begin(RUNS), std::end(RUNS), code,
                                      [](uint32_t c, const Run& r) { return c < r.first; });
    // Where runs of every second code point lie in each other, the one that begins before may be the one.
    for (int back = 0; back < 2 && run != std::begin(RUNS); ++back) {
        --run;
        if (code <= run->last && (code - run->first) % run->step == 0) {
            const Kind kind = static_cast<Kind>(run->kind);
            const uint32_t result = static_cast<uint32_t>(run->distance) + (kind == SEVERAL ? 0 : code);
            return {kind, result};
        }
    }
    return {LETTER, code};
}

// The fates of the first code points, most of what there is to read, at hand.
class Fates {
public:
    Fates() {
        for (uint32_t code = 0; code < NEAR; ++code) near_[code] = look_up(code);
    }

    Fate of(uint32_t code) const { return code < NEAR ? near_[code] : look_up(code); }

private:
    static constexpr uint32_t NEAR = 0x600;  // Latin, Greek, Cyrillic, Hebrew
    Fate near_[NEAR];
};

inline const Fates& fates() {
    static const Fates made;
    return made;
}

}  // namespace pi_wordpiece
