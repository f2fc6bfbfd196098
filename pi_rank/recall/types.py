"""What recall asks and answers: hits, results, the protocol, and the policy of a turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from pi_rank.errors import ConfigError, PiRankError

Presentation = Literal["validated", "boundary", "refuted"]

MAX_TIMEOUT_SECONDS = 30.0
MAX_TOP_K = 20
MIN_CHARS, MAX_CHARS = 512, 16_384


class RecallUnavailableError(PiRankError):
    """Memory could not be asked, or its answer was not usable. Says nothing of URL, token or content."""

    def __init__(self) -> None:
        super().__init__("memory recall is unavailable")


def normalise_presentation(value: object) -> Presentation:
    """How a hit may be shown. Whatever is not known to be validated or refuted is boundary data."""
    return value if value == "validated" or value == "refuted" else "boundary"


@dataclass(frozen=True)
class MemoryHit:
    """One thing remembered: where it stands, what kind it is, how near it is (no scale is implied), and
    its text.
    """

    source: str
    kind: str
    score: float | None
    snippet: str
    presentation: str = "boundary"
    provenance: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "presentation", normalise_presentation(self.presentation))


@dataclass(frozen=True)
class MemoryRecallResult:
    """What memory answered to a query. `abstained` exactly when there are no hits.

    :raises ConfigError: it is not so.
    """

    query: str
    hits: tuple[MemoryHit, ...]
    abstained: bool
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.abstained != (not self.hits):
            raise ConfigError("abstained must be true exactly when there are no hits")


class MemoryRecall(Protocol):
    """A memory that can be asked."""

    async def recall(self, query: str, *, top_k: int) -> MemoryRecallResult:
        """The best `top_k` things remembered for a query.

        :raises Exception: memory is not available; the turn goes on without it.
        """
        ...


@dataclass(frozen=True)
class MemoryPolicy:
    """How much of a turn's time and context memory may take.

    :raises ConfigError: a value is of the wrong type or out of range.
    """

    timeout_seconds: float = 2.0
    top_k: int = 3
    max_chars: int = 4_096

    def __post_init__(self) -> None:
        checked_timeout(self.timeout_seconds)
        checked_int("top_k", self.top_k, 1, MAX_TOP_K)
        checked_int("max_chars", self.max_chars, MIN_CHARS, MAX_CHARS)


def checked_timeout(value: object) -> float:
    """Seconds, finite, above 0 and at most 30.

    :raises ConfigError: it is something else.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (
        not number
        or not math.isfinite(cast("float", value))
        or not 0 < cast("float", value) <= MAX_TIMEOUT_SECONDS
    ):
        raise ConfigError(
            f"timeout_seconds must be above 0 and at most {MAX_TIMEOUT_SECONDS:g}, got {value!r:.40}"
        )
    return float(cast("float", value))


def checked_int(name: str, value: object, least: int, most: int) -> int:
    """A whole number in a range; a bool or a float is none.

    :raises ConfigError: naming the argument.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{name} must be a whole number from {least} to {most}, got {value!r:.40}")
    return value
