"""The records whose `applies_when` a turn meets: a phrase speaks for its record as a query's words do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi_rank.ranking.blend import Part
from pi_rank.turn.ranking import WANTED_SHARE, Near

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking

    Rows = npt.NDArray[np.int32]


def wanted_rows(
    snapshot: Snapshot, query: str, context: SessionContext | None, eligible: npt.NDArray[np.uint8]
) -> Rows:
    """The eligible rows of which a phrase occurs in what the turn is about: int32, ascending.

    Where it is asked says nothing of what is asked: the place is for scopes, and its words would bring a
    record into every turn there.
    """
    if not snapshot.wanted.phrase_count:
        return np.empty(0, np.int32)
    rows, _ = snapshot.wanted.match(_subjects(query, context))
    found: Rows = rows[eligible[rows] != 0]
    return found


def _subjects(query: str, context: SessionContext | None) -> list[str]:
    if context is None:
        return [query]
    others = (context.task_intent, *context.recent_files_touched, *context.detected_domain_tags)
    return [query, *(text for text in others if text)]


def with_wanted(
    snapshot: Snapshot,
    ranking: Ranking,
    rows: Rows,
    terms: Sequence[str],
    vector: npt.NDArray[np.float32] | None,
) -> Ranking:
    """The ranking with these rows in it, each with WANTED_SHARE on top of its score.

    A row that no source found stands, but for that, behind those that one did.

    :param rows: int32[m], at least one.
    :param terms: the query's stems.
    :param vector: float32[dimension], the query's; None without one.
    """
    new = np.setdiff1d(rows, ranking.rows)
    every = np.concatenate([ranking.rows, new])
    least = float(ranking.scores.min(initial=0.0))
    wanted = np.isin(every, rows).astype(np.float64)
    scores = np.concatenate([ranking.scores, np.full(len(new), least)]) + WANTED_SHARE * wanted
    order = np.lexsort((snapshot.tie_rank[every], -scores))
    return ranking._replace(
        rows=every[order],
        scores=scores[order],
        wanted=wanted[order],
        mode="applies" if ranking.mode == "none" else ranking.mode,
        parts=_parts(ranking, len(new), least, order),
        near=_near(snapshot, ranking, new, terms, vector, order),
    )


def _parts(ranking: Ranking, new: int, least: float, order: npt.NDArray[np.intp]) -> tuple[Part, ...] | None:
    if ranking.parts is None:
        return None
    # The last of the lists takes the score of the new rows, so that shares still add up to it.
    fill = [0.0] * (len(ranking.parts) - 1) + [least]
    return tuple(
        Part(
            np.concatenate([ranks, np.zeros(new, np.int32)])[order],
            np.concatenate([own, np.full(new, each)])[order],
        )
        for (ranks, own), each in zip(ranking.parts, fill, strict=True)
    )


def _near(
    snapshot: Snapshot,
    ranking: Ranking,
    new: Rows,
    terms: Sequence[str],
    vector: npt.NDArray[np.float32] | None,
    order: npt.NDArray[np.intp],
) -> Near | None:
    if ranking.near is None or vector is None or snapshot.vectors is None:
        return None
    _, coverage = snapshot.lexical.score_rows(terms, new)
    cosines = np.nan_to_num(snapshot.vectors.products(vector, new))
    return Near(
        np.concatenate([ranking.near.cosines, cosines])[order],
        np.concatenate([ranking.near.coverage, coverage])[order],
        ranking.near.words,
    )
