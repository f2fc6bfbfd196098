"""Which rows of a ranking belong to what is asked: one decision for turns, recall, search and qmd."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.turn.ranking import taken
from pi_rank.turn.relevance import Relevant, relevant
from pi_rank.turn.subject import has_subject
from pi_rank.turn.wanted import wanted_rows, with_wanted

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.embedding.cards import Calibration
    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking


class Asked(NamedTuple):
    """A query, where it is asked, None for nowhere, and its vector: float32[dimension], None without one."""

    query: str
    context: SessionContext | None
    vector: npt.NDArray[np.float32] | None


def belonging(
    snapshot: Snapshot,
    analyzer: FtsAnalyzer,
    ranking: Ranking,
    asked: Asked,
    eligible: npt.NDArray[np.uint8],
    calibration: Calibration | None,
    least: float | None = None,
) -> Relevant:
    """What of a ranking belongs, and the records with it whose `applies_when` says so.

    :param eligible: uint8[n_rows], 1 where a row may be returned.
    :param calibration: the model's, None where its card has none.
    :param least: the relevance that a row needs, the calibration's threshold by default; 0 keeps every row.
    """
    empty = least != 0 and not has_subject(asked.query)
    if empty:
        ranking = taken(ranking, np.empty(0, np.intp))
    rows = wanted_rows(snapshot, asked.query, asked.context, eligible)
    if len(rows):
        ranking = with_wanted(snapshot, ranking, rows, analyzer.query_terms(asked.query), asked.vector)
    found = relevant(ranking, asked.query, calibration, least)
    if empty and not len(found.ranking.rows):
        return found._replace(best=None if calibration is None else 0.0, off_topic=True)
    return found
