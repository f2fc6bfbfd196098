// The encoder in plain C++, which runs everywhere.
#pragma once

#include "encoder/lanes.hpp"
#include "encoder/model.hpp"

namespace pi_encoder {
namespace plain {

typedef Pair<Pair<Floats4>> Floats;
typedef Pair<Pair<Ints4>> Ints;
typedef uint8_t Code;
constexpr int TILE_ROWS = 4, TILE_OUTPUTS = LANES;
constexpr int QUERIES = 2;

#include "encoder/arithmetic.inc"

PI_ENCODER_INLINE void store_codes(Code* at, const Ints& codes) {
    int32_t each[LANES];
    Part<Ints>::store(each, codes);
    for (int i = 0; i < LANES; ++i) at[i] = static_cast<Code>(each[i]);
}

template <int ROWS>
inline void tile(const Code* codes, size_t in, const int8_t* weights, int32_t* sums) {
    for (int r = 0; r < ROWS; ++r)
        for (int o = 0; o < LANES; ++o) sums[r * TILE_OUTPUTS + o] = 0;
    for (size_t i = 0; i < in; i += 4, weights += OUTPUTS * 4) {
        int16_t spread[4][LANES];
        for (int o = 0; o < LANES; ++o)
            for (int j = 0; j < 4; ++j) spread[j][o] = weights[4 * o + j];
        for (int r = 0; r < ROWS; ++r)
            for (int j = 0; j < 4; ++j) {
                const int16_t code = codes[r * in + i + j];
                for (int o = 0; o < LANES; ++o) sums[r * TILE_OUTPUTS + o] += code * spread[j][o];
            }
    }
}

#include "encoder/tiles.inc"
#include "encoder/layers.inc"

}  // namespace plain
}  // namespace pi_encoder
