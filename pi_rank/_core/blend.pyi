import numpy as np
from numpy.typing import NDArray

from pi_rank._core.bm25 import Segment
from pi_rank._core.vectors import VectorTable

Part = tuple[NDArray[np.int32], NDArray[np.float64]]

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
    constants: tuple[float, float, tuple[int, int], float, int, float, int],
) -> tuple[NDArray[np.int32], NDArray[np.float64], Part, Part, NDArray[np.float64], NDArray[np.float64]]:
    """The rows of both lists, best first: rows, scores, lexical and semantic part, cosines, and coverage.

    A part is each row's rank in that list, from 1, 0 for none, and its share of the score.

    :param constants: `pi_rank.ranking.blend.BlendConstants`.

    :raises ValueError: no semantic hit; a hit that is no row, or has no vector; arrays of other lengths.
    """
