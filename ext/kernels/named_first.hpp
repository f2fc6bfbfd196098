// The rows that a query names, put before all others of a ranking.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pi_rank {

// Rows in their new order; the place in the ranking that each had, -1 for one that was not in it; the shares of the
// first ones.
struct LedOrder {
    std::vector<std::int32_t> rows, places;
    std::vector<double> shares;
};

// For each of `named` (ascending) its place among `rows`, -1 for none.
inline std::vector<std::int32_t> places_of(const std::int32_t* named, std::size_t n_named, const std::int32_t* rows,
                                           std::size_t n_rows) {
    std::vector<std::int32_t> places(n_named, -1);
    for (std::size_t i = 0; i < n_rows; ++i) {
        const std::int32_t* at = std::lower_bound(named, named + n_named, rows[i]);
        if (at != named + n_named && *at == rows[i]) places[std::size_t(at - named)] = std::int32_t(i);
    }
    return places;
}

// Those of `named` (ascending) that are not among `rows`.
inline std::vector<std::int32_t> missing(const std::int32_t* rows, std::size_t n_rows, const std::int32_t* named,
                                         std::size_t n_named) {
    const std::vector<std::int32_t> places = places_of(named, n_named, rows, n_rows);
    std::vector<std::int32_t> others;
    for (std::size_t i = 0; i < n_named; ++i)
        if (places[i] < 0) others.push_back(named[i]);
    return others;
}

// Rows with a share come first, greatest first, equal ones in the ranking's order, those that it lacks last and by row.
// `returning`: 1 for rows that come back where the ranking lacks them; without a share they come at the end.
inline LedOrder led_order(const std::int32_t* ranked, std::size_t n_ranked, const std::int32_t* named,
                          std::size_t n_named, const double* shares, const std::uint8_t* returning) {
    const std::vector<std::int32_t> places = places_of(named, n_named, ranked, n_ranked);
    std::vector<std::size_t> first, last;
    std::vector<std::uint8_t> moved(n_ranked, 0);
    for (std::size_t i = 0; i < n_named; ++i) {
        if (places[i] < 0 && !returning[i]) continue;
        if (shares[i] > 0.0) {
            first.push_back(i);
            if (places[i] >= 0) moved[std::size_t(places[i])] = 1;
        } else if (places[i] < 0) {
            last.push_back(i);
        }
    }
    const auto rank = [&](std::size_t i) { return places[i] < 0 ? n_ranked + i : std::size_t(places[i]); };
    std::sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
        return shares[a] != shares[b] ? shares[a] > shares[b] : rank(a) < rank(b);
    });
    LedOrder order;
    const auto take = [&](std::int32_t row, std::int32_t place) {
        order.rows.push_back(row);
        order.places.push_back(place);
    };
    for (const std::size_t i : first) {
        take(named[i], places[i]);
        order.shares.push_back(shares[i]);
    }
    for (std::size_t place = 0; place < n_ranked; ++place)
        if (!moved[place]) take(ranked[place], std::int32_t(place));
    for (const std::size_t i : last) take(named[i], -1);
    return order;
}

}  // namespace pi_rank
