import numpy as np
from numpy.typing import NDArray

from pi_rank._core.bm25 import Segment
from pi_rank._core.vectors import VectorTable

def blend(
    segments: tuple[Segment, ...],
    terms: tuple[str, ...],
    live_rows: int,
    lexical_rows: NDArray[np.int32],
    table: VectorTable,
    query: NDArray[np.float32],
    hit_rows: NDArray[np.int32],
    hit_scores: NDArray[np.float64],
    tie_rank: NDArray[np.int32],
    words: float,
    coverage: float,
    background: tuple[int, int],
    centre: float,
    centre_hits: int,
    feedback: float,
    feedback_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """The rows of both lists, best first: rows, scores, lexical part, semantic part, and the relevance.

    :raises ValueError: no semantic hit; a hit that is no row, or has no vector; arrays of other lengths.
    """
