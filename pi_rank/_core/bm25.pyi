from typing import Any

import numpy as np
from numpy.typing import NDArray

class Segment:
    """One segment's arrays (postings.FIELDS) with the statistics of one version of the index."""

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        frequencies: NDArray[np.int32],
        impacts: NDArray[np.float64],
    ) -> None:
        """
        :param frequencies: int32[terms], live rows that have the term.
        :param impacts: float64[codes], BM25's quotient of each (term frequency, document length) pair.
        :raises ValueError: the statistics are not of these arrays' sizes.
        """

def search(
    segments: tuple[Segment, ...],
    queries: list[tuple[str, ...]],
    live_rows: int,
    k: int,
    eligible: list[NDArray[np.uint8]],
    tie_rank: NDArray[np.int32],
) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """For each query the k best rows with eligible[row] == 1 and their scores, best first.

    A term that a query repeats counts again. The GIL is let go once for all queries.

    :raises ValueError: other numbers of queries and of eligibility arrays; an array that ends too soon.
    """

def score_rows(
    segments: tuple[Segment, ...], terms: tuple[str, ...], live_rows: int, rows: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each of the `rows`: its score, to the last bit that of `search`; its share of all idf."""
