from typing import Any

import numpy as np
from numpy.typing import NDArray

class OverlapIndex:
    """The stems of a few rows of a snapshot."""

    def __init__(self, segment: dict[str, NDArray[Any]], rows: NDArray[np.int32]) -> None:
        """
        :param segment: the rows' documents (postings.selected), in their order.
        :param rows: int32[m], ascending: each document's row in the snapshot.
        :raises ValueError: another number of documents than of rows.
        """

    def best(
        self,
        terms: tuple[str, ...],
        k: int,
        least: float,
        eligible: NDArray[np.uint8],
        tie_rank: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The k rows with eligible[row] != 0 whose ratio is the largest and above `least`, and the ratios.

        :param terms: each at most once.
        :raises ValueError: `eligible` or `tie_rank` ends before the last row.
        """
