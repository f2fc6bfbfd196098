"""Records by the names they hold: identifiers, paths, versions, tickets, whole or in parts.

index = NameIndex.build(["JIRA-4521 tracks the flaky upload test.", "getUserById is slow"])
index.find("what was JIRA-4521?", eligible)     # Named(rows [0], shares [6.0], whole [1])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank._core import names
from pi_rank.ranking.arrays import require_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pi_rank._core.names import Entries

# A delta is merged into what stands before it once it has a sixteenth of its entries, and never below these.
DELTA_ENTRIES = 8192
DELTA_SHARE = 1 / 16
KEYS_VERSION = 1  # goes up when other keys are made of a text (ext/kernels/names.hpp)


class Named(NamedTuple):
    """Rows that hold names of a query.

    `rows`: int32[m], ascending. `shares`: float64[m], what that adds to a row's score: 6 where a name stands
    there as the query writes it, 4 inside a longer one, 2 for its parts in order whatever stands between
    them, or for a plain sentence's words that spell out a whole name, 0 for words that spell out a part of
    one. `whole`: uint8[m], not 0 for the first two kinds.
    """

    rows: NDArray[np.int32]
    shares: NDArray[np.float64]
    whole: NDArray[np.uint8]


class NameIndex:
    """The names of all rows, dead ones included. Nothing in it changes; threads may share it."""

    def __init__(self, segments: Sequence[Entries], n_rows: int) -> None:
        """Use `build`, `updated` or `from_arrays`.

        :param segments: entries of adjacent rows, those of earlier rows first.
        """
        self._entries = tuple(segments)
        self._segments = tuple(names.Segment(each) for each in segments)
        self.n_rows = n_rows

    @classmethod
    def build(cls, texts: Sequence[str]) -> NameIndex:
        """An index of these texts, which become rows 0, 1, 2, ….

        :raises TypeError: a text is no str.
        """
        return cls([names.build(texts)], len(texts))

    def updated(self, added: Sequence[str]) -> NameIndex:
        """The next version, with `added` as rows at the end. Rows that died stay, and are never eligible.

        :raises TypeError: a text is no str.
        """
        if not added:
            return self
        base, *deltas = self._entries
        delta = names.build(added, self.n_rows)
        for older in deltas:
            delta = names.merge(older, delta)
        whole = len(delta[0]) > max(DELTA_ENTRIES, DELTA_SHARE * len(base[0]))
        segments = [names.merge(base, delta)] if whole else [base, delta]
        return NameIndex(segments, self.n_rows + len(added))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index holds."""
        return sum(segment.nbytes for segment in self._segments)

    def find(self, query: str, eligible: NDArray[np.uint8]) -> Named | None:
        """The eligible rows that hold a name of the query, or whose names its words spell out; None for none.

        A name that more than 100 eligible rows hold tells nothing apart, and is passed over.

        :param eligible: uint8[n_rows], not 0 where a row may be found.
        :raises TypeError, ValueError: an array of another type or length.
        """
        require_array("eligible", eligible, np.uint8, self.n_rows)
        found = names.find(self._segments, query, eligible)
        return found and Named(*found)

    def arrays(self, kept: NDArray[np.int32]) -> dict[str, NDArray[np.int64] | NDArray[np.int32]]:
        """The index of some rows as named arrays, for a cache file, in which they are rows 0, 1, 2, ….

        :param kept: int32[m], ascending, each at most once.
        """
        keys, rows = self._entries[0]
        for delta in self._entries[1:]:
            keys, rows = names.merge((keys, rows), delta)
        if len(kept) == self.n_rows:
            return {"keys": keys, "rows": rows}
        places = np.full(self.n_rows, -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        own = places[rows] >= 0
        return {"keys": keys[own], "rows": places[rows[own]]}

    @classmethod
    def from_arrays(cls, keys: NDArray[np.int64], rows: NDArray[np.int32], n_rows: int) -> NameIndex:
        """The index whose `arrays` these are. Nothing is checked: a file's checksum proves them."""
        return cls([(keys, rows)], n_rows)
