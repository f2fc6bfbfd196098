"""Which of a few rows share stems with a query: how contested memory is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi_rank._core import overlap
from pi_rank.ranking.arrays import require_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pi_rank.ranking.lexical import LexicalIndex


class OverlapIndex:
    """The stems of some rows of a lexical index, apart: a query costs their postings and nobody else's.

    Nothing in it changes; threads may share it.
    """

    def __init__(self, index: LexicalIndex, rows: NDArray[np.int32]) -> None:
        """
        :param rows: int32[m], ascending, each at most once.
        :raises ValueError: rows that do not ascend, or are not there.
        """
        self.rows = rows
        self._core = overlap.OverlapIndex(index.selected(rows), rows)

    def best(
        self,
        terms: Sequence[str],
        k: int,
        *,
        above: float = 0.0,
        eligible: NDArray[np.uint8],
        tie_rank: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The k rows that share the most of their stems with the query: (int32 rows, float64 ratios > above).

        ratio = distinct stems that query and document share ÷ the smaller of their numbers of distinct
        stems; stems of function words are left out. Best first, equal ratios by ascending tie rank.

        :param terms: the query's stems, those of function words left out; a repeated one counts once.
        :param eligible: uint8[n_rows], not 0 where a row may be returned; n_rows may have grown meanwhile.
        :param tie_rank: int32[n_rows].
        :raises TypeError, ValueError: an array of another type, or shorter than the index had rows.
        """
        require_array("eligible", eligible, np.uint8)
        require_array("tie_rank", tie_rank, np.int32)
        return self._core.best(tuple(dict.fromkeys(terms)), k, above, eligible, tie_rank)
