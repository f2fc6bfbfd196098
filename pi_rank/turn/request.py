"""What one turn is asked, checked: from here on nobody looks at a clock, an environment or a folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.embedding.queries import GivenVector
from pi_rank.errors import ContextError, VectorError

if TYPE_CHECKING:
    from datetime import date

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.embedding.queries import QueryVector


class Request(NamedTuple):
    """One turn: what is asked, on which day, how much may be shown, and the prompt's vector to be.

    `context` names its place in full (`pi_rank.places`). `min_relevance`: what a record needs to be selected;
    None for the root's, or the model's. `deadline`: when to go on without a reranker's
    answer, on the clock of `time.perf_counter`.
    """

    context: SessionContext
    today: date
    max_bytes: int
    max_records: int | None
    min_relevance: float | None
    query_vector: QueryVector
    deadline: float | None


def deadline_in(milliseconds: float | None) -> float | None:
    """The moment on the clock of `time.perf_counter` that is so far away; None for none.

    :raises ContextError: it is negative or no number.
    """
    if milliseconds is None:
        return None
    if not milliseconds >= 0:
        raise ContextError(f"deadline_ms must be 0 or more, got {milliseconds}")
    return time.perf_counter() + milliseconds / 1000


def checked_share(name: str, value: float | None) -> float | None:
    """The value, where it is from 0 to 1, or none.

    :raises ContextError: it is not.
    """
    if value is not None and not 0 <= value <= 1:
        raise ContextError(f"{name} must be from 0 to 1, got {value}")
    return value


def given_vector(vector: npt.NDArray[np.float32]) -> GivenVector:
    """A vector that the caller brought: float32[dimension].

    :raises VectorError: it is of another type, or not finite.
    """
    if getattr(vector, "dtype", None) != np.float32 or vector.ndim != 1 or not np.isfinite(vector).all():
        raise VectorError("query_vector must be float32[dimension] with finite values")
    return GivenVector(np.ascontiguousarray(vector), "given")
