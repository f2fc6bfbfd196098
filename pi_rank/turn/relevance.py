"""Which rows of a ranking answer the query at all: one decision for turns, recall and search.

Rows are ordered by what is nearest, and something always is. Here it is decided what of it is shown:
nothing, where nothing in memory has to do with the query. What the query names comes back in named.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pi_rank.ranking.blend import Part

if TYPE_CHECKING:
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
    return Relevant(nothing_of(ranking), True)


def nothing_of(ranking: Ranking) -> Ranking:
    """The ranking without its rows."""
    parts = ranking.parts
    return ranking._replace(
        rows=ranking.rows[:0],
        scores=ranking.scores[:0],
        parts=None if parts is None else tuple(Part(ranks[:0], own[:0]) for ranks, own in parts),
    )
