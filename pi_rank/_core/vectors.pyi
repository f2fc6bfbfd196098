from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

NORM_TOLERANCE: float

def kernels() -> tuple[str, ...]: ...
def checked_array(value: object, name: str, dtype: npt.DTypeLike, ndim: int) -> npt.NDArray[Any]: ...
def checked_vectors(value: object, name: str, dimension: int | None = None) -> npt.NDArray[np.float32]: ...

class VectorTable:
    row_node: npt.NDArray[np.int32]
    @staticmethod
    def build(vectors: npt.NDArray[np.float32], row_node: npt.NDArray[np.int32]) -> VectorTable: ...
    def updated(
        self, new_vectors: npt.NDArray[np.float32], row_node: npt.NDArray[np.int32]
    ) -> VectorTable: ...
    @property
    def count(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def vectors(self, begin: int, end: int) -> npt.NDArray[np.float32]: ...
    def search(
        self,
        query: npt.NDArray[np.float32],
        k: int,
        *,
        tie_rank: npt.NDArray[np.int32],
        eligible: npt.NDArray[np.uint8] | None = None,
        rows: npt.NDArray[np.int32] | None = None,
        kernel: str | None = None,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...
    def search_many(
        self,
        queries: npt.NDArray[np.float32],
        k: int,
        *,
        tie_rank: npt.NDArray[np.int32],
        eligible: npt.NDArray[np.uint8] | Sequence[npt.NDArray[np.uint8] | None] | None = None,
    ) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]]: ...
    def products(
        self, query: npt.NDArray[np.float32], rows: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]: ...
