"""What a query names, by id or by a name in its text, before everything that is only near to it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from pi_rank._core.names import put_first
from pi_rank.names import names_in
from pi_rank.turn.ranking import ID_SHARE, WHOLE_SHARE, taken_or_new

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.ranking.names import Named
    from pi_rank.results import Mode
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking

    Shares = npt.NDArray[np.float64]


def with_named(snapshot: Snapshot, ranking: Ranking, query: str, eligible: npt.NDArray[np.uint8]) -> Ranking:
    """The ranking with the rows that the query names before all others.

    First those that it names by id; then those that hold a name of it as it stands, inside a longer name, or
    in parts; each kind in the ranking's order. Of rows that the ranking left out, those whose id is named and
    those that hold a whole name come back.

    :param eligible: uint8[n_rows]; also of rows that the ranking was not to find, such as contested ones.
    """
    ids = [row for row in named_rows(snapshot, query) if eligible[row]]
    if not ids and ranking.names is None:
        return ranking
    named, shares, returning = _with_ids(ids, *_by_name(ranking))
    rows, places, first = put_first(ranking.rows, named, shares, returning)
    order = taken_or_new(ranking, places.astype(np.intp))
    order.scores[: len(first)] += first
    if order.relevance is not None:
        order.relevance[: len(first)][first >= WHOLE_SHARE] = 1.0
    mode: Mode = ranking.mode
    if mode == "none" and len(rows):
        mode = "id" if ids else "name"
    return order._replace(rows=rows, mode=mode, named=first)


def named_rows(snapshot: Snapshot, query: str) -> list[int]:
    """The live rows whose ids a query names, in its order."""
    rows = []
    for name in names_in(query):
        place = bisect_left(snapshot.order, name, key=snapshot.ids.__getitem__)
        if place < len(snapshot.order) and snapshot.ids[snapshot.order[place]] == name:
            rows.append(int(snapshot.order[place]))
    return rows


def _by_name(ranking: Ranking) -> tuple[npt.NDArray[np.int32], Shares, npt.NDArray[np.uint8]]:
    """The rows that hold names, their shares, and which come back where the ranking lacks them.

    A ranking of both sources had all of them among its candidates: those that it lacks are off the topic, and
    only those with a whole name come back. A ranking of words alone never looked at them.
    """
    names: Named | None = ranking.names
    if names is None:
        return np.empty(0, np.int32), np.empty(0), np.empty(0, np.uint8)
    judged = ranking.relevance is not None
    return names.rows, names.shares, names.whole if judged else np.ones_like(names.whole)


def _with_ids(
    ids: list[int], rows: npt.NDArray[np.int32], shares: Shares, returning: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.int32], Shares, npt.NDArray[np.uint8]]:
    """The same with the rows that are named by id, whose share is ID_SHARE."""
    if not ids:
        return rows, shares, returning
    all_rows = np.union1d(rows, np.array(ids, np.int32))
    others = np.searchsorted(all_rows, rows)
    by_id = np.isin(all_rows, ids)
    all_shares, back = np.zeros(len(all_rows)), by_id.astype(np.uint8)
    all_shares[others], back[others] = shares, returning
    all_shares[by_id], back[by_id] = ID_SHARE, 1
    return all_rows, all_shares, back
