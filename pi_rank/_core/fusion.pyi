import numpy as np
from numpy.typing import NDArray

def fuse(
    lists: tuple[NDArray[np.int32], ...],
    weights: tuple[float, ...],
    k: float,
    limit: int,
    tie_rank: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The `limit` best rows by the sum of weight / (k + rank), rank from 1, best first, and their scores.

    A row that a list holds twice counts at its best rank; -1 takes a rank and gives no row.

    :raises ValueError: a row is below -1 or not below len(tie_rank).
    """
