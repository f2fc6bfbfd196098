import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

def relevance(
    cosines: Scores,
    coverage: Scores,
    wanted: Scores | None,
    words: float,
    read: float,
    intercept: float,
    evidence: float,
    best: float,
    least: float,
) -> tuple[Scores, NDArray[np.int64], float]:
    """The relevance of the rows that have `least`, their places, ascending, and that of the most evidence.

    :param cosines, coverage, wanted: float64[m] of the rows; None for no row wanted.
    :param words, read: what coverage and cosines are multiplied with.
    :param intercept, evidence, best: of `pi_rank.embedding.cards.Calibration`.
    :raises ValueError: the arrays differ in length.
    """
