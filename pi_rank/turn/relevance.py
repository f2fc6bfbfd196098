"""Which rows of a ranking answer the query at all: one decision for turns, recall and search.

Rows are ordered by what is nearest, and something always is. Here it is decided what of it is shown:
nothing, where nothing in memory has to do with the query, and what the query names by id in any case.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi_rank.names import names_in
from pi_rank.ranking.blend import Part
from pi_rank.turn.ranking import NAMED_SHARE

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking


class Relevant(NamedTuple):
    """The rows of a ranking that answer, and whether memory has anything to do with the query."""

    ranking: Ranking
    off_topic: bool


def relevant(ranking: Ranking, floor: float | None) -> Relevant:
    """What of a ranking answers its query: all of it, or nothing.

    :param floor: what the model's card says a relevant row has at least; None where it says nothing.
        Without it, and where only words or only ranks are known, whatever was found answers.
    """
    if ranking.relevance is None or floor is None or ranking.relevance >= floor:
        return Relevant(ranking, False)
    return Relevant(_taken(ranking, np.empty(0, np.intp)), True)


def with_named(snapshot: Snapshot, ranking: Ranking, query: str, eligible: npt.NDArray[np.uint8]) -> Ranking:
    """The ranking with the eligible rows that the query names by id before all others.

    :param eligible: uint8[n_rows]; also of rows that the ranking was not to find, such as contested ones.
    """
    named = [row for row in named_rows(snapshot, query) if eligible[row]]
    if not named:
        return ranking
    known = {row: place for place, row in enumerate(ranking.rows.tolist()) if row in named}
    first = np.array([known.get(row, -1) for row in named], np.intp)
    rest = np.array([place for place in range(len(ranking.rows)) if place not in known.values()], np.intp)
    order = _taken(ranking, np.concatenate([first, rest]))
    order.rows[: len(named)] = named
    order.scores[: len(named)] += NAMED_SHARE
    by_score = np.lexsort((np.arange(len(named)), -order.scores[: len(named)]))
    places = np.concatenate([by_score, np.arange(len(named), len(order.rows))])
    mode = "id" if ranking.mode == "none" else ranking.mode
    return _taken(order, places)._replace(mode=mode, named=len(named))


def named_rows(snapshot: Snapshot, query: str) -> list[int]:
    """The live rows whose ids a query names, in its order."""
    rows = []
    for name in names_in(query):
        place = bisect_left(snapshot.order, name, key=snapshot.ids.__getitem__)
        if place < len(snapshot.order) and snapshot.ids[snapshot.order[place]] == name:
            rows.append(int(snapshot.order[place]))
    return rows


def _taken(ranking: Ranking, places: npt.NDArray[np.intp]) -> Ranking:
    """The ranking's rows at some places, in their order; a place of -1 is a row that it did not find."""
    found = places >= 0

    def of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        taken = np.zeros(len(places), values.dtype)
        taken[found] = values[places[found]]
        return taken

    parts = ranking.parts
    return ranking._replace(
        rows=of(ranking.rows),
        scores=of(ranking.scores),
        parts=None if parts is None else tuple(Part(of(ranks), of(own)) for ranks, own in parts),
    )
