"""Checks at the border to the compiled core, which reads memory and trusts sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def require_array(name: str, array: object, dtype: DTypeLike, length: int | None = None) -> NDArray[Any]:
    """`array` itself, where it is a C-contiguous one-dimensional array of `dtype` (and `length`).

    :raises TypeError: not an array, or of another dtype; nothing is converted, because a narrowing
        conversion would turn a large id into another record's row.
    :raises ValueError: another shape, another length, or not contiguous.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a numpy array of {np.dtype(dtype)}, not {type(array).__name__}")
    if array.dtype != dtype:
        raise TypeError(f"{name} must have dtype {np.dtype(dtype)}, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if length is not None and array.shape[0] != length:
        raise ValueError(f"{name} must have {length} entries, one for each row, not {array.shape[0]}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous; pass numpy.ascontiguousarray({name})")
    return array
