import numpy as np
from numpy.typing import NDArray

from pi_rank._core.vectors import VectorTable

def alike(
    table: VectorTable, rows: NDArray[np.int32], least: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The pairs of `rows` whose cosine is at least `least`, as two int32[p] of places in `rows`; and the
    places of the rows that have no vector.

    The first place is the smaller; pairs are in order of the first, then of the second. A row without a
    vector is in none; rows that share a vector are alike whatever `least` is.

    :param rows: int32[m], each in [0, n_rows).
    :raises ValueError: a row that is not there.
    """
