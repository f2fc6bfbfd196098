"""Who is chosen from a ranking, and beside it: the layers' budgets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pi_rank.errors import ConfigError
from pi_rank.memory.config import l1_share
from pi_rank.memory.records import MemoryRecord
from pi_rank.results import Hit

MAX_RECORDS = 12
MAX_L1 = 4
MAX_HARD_RULES = 8

_L1 = 1


def default_max_l1(max_records: int) -> int:
    """L1's share of `max_records`: min(4, floor(0.35 × max_records)), in whole numbers."""
    return min(MAX_L1, l1_share(max_records))


def layer_limits(max_records: int, max_l1: int | None, max_l2: int | None) -> tuple[int, int]:
    """How many L1 records, and how many others, may be chosen.

    A limit that is None is L1's default share, or no limit of its own. Limits that do not fit together into
    `max_records` are settled for L2: L1 falls back to its default share where that is smaller.

    :raises ConfigError: if a limit is negative.
    """
    for name, limit in (("max_records", max_records), ("max_l1", max_l1), ("max_l2", max_l2)):
        if limit is not None and limit < 0:
            raise ConfigError(f"{name} is {limit}; it must be 0 or more")
    share = default_max_l1(max_records)
    first = share if max_l1 is None else min(max_l1, max_records)
    if max_l2 is not None and first + max_l2 > max_records:
        first = min(first, share)
    return first, max_records if max_l2 is None else max_l2


class Choice(NamedTuple):
    """Places in a ranking, each list in its order: L1, then L2 and L3, then those that would come next."""

    identity: list[int]
    others: list[int]
    next: list[int]

    @property
    def places(self) -> list[int]:
        """What is to be shown, L1 first."""
        return self.identity + self.others


def choose(
    rows: NDArray[np.int32],
    layers: NDArray[np.uint8],
    *,
    max_records: int = MAX_RECORDS,
    max_l1: int | None = None,
    max_l2: int | None = None,
    exclude: Collection[int] = (),
    ahead: int = 0,
) -> Choice:
    """Places in `rows` to show, at most `max_records`: L1 first, then L2 and L3, each in the ranking's order.

    L1 takes no more than its limit and leaves slots empty rather than take another's; the rest is L2's.

    :param rows: int32[k], rows best first, each at most once.
    :param layers: uint8[n_rows], 1, 2 or 3 per row.
    :param exclude: a few rows that are shown elsewhere, such as hard rules.
    :param ahead: how many that come next, of L2 and L3, are told as well.
    :raises ConfigError: if a limit is negative.
    """
    limit_l1, limit_rest = layer_limits(max_records, max_l1, max_l2)
    of_l1 = layers[rows] == _L1
    first = _best(rows, np.flatnonzero(of_l1), limit_l1, exclude)
    limit = min(limit_rest, max_records - len(first))
    rest = _best(rows, np.flatnonzero(~of_l1), limit + ahead if limit else 0, exclude)
    return Choice(first, rest[:limit], rest[limit:])


def select(rows: NDArray[np.int32], layers: NDArray[np.uint8], **limits: Any) -> list[int]:  # noqa: ANN401
    """The places of `choose`, with its limits."""
    return choose(rows, layers, **limits).places


def with_identity(selected: Sequence[Hit], identity: Iterable[MemoryRecord], max_l1: int) -> tuple[Hit, ...]:
    """What a ranking selected, and identity records (L1) on top, up to `max_l1` of them in all.

    Who the user is matters to every prompt, whatever it is about: a record of it that no ranking found counts
    behind those that one did, with score 0 and without a source.

    :param identity: eligible L1 records in the order in which they are to be taken.
    """
    ranked = [hit for hit in selected if hit.layer == "L1"]
    known = {hit.id for hit in ranked}
    others = (Hit(record.id, 0.0, record) for record in identity if record.id not in known)
    filled = islice(others, max(0, max_l1 - len(ranked)))
    return (*ranked, *filled, *(hit for hit in selected if hit.layer != "L1"))


def _best(
    rows: NDArray[np.int32], places: NDArray[np.intp], limit: int, exclude: Collection[int]
) -> list[int]:
    """The first `limit` of the places whose rows are not excluded."""
    places = places[: limit + len(exclude)]  # as many as can be needed
    left = zip(places.tolist(), rows[places].tolist(), strict=True)
    return [place for place, row in left if row not in exclude][:limit]
