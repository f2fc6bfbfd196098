"""How likely each row of a ranking belongs to its query, and which are kept: one decision for turns, recall,
search and qmd.

Rows are ordered by what is nearest, and something always is. A row is kept where it is likely enough to
belong, so nothing is where nothing in memory has to do with the query.

    evidence(d)  = max(0.02, read · cos(q, d) + ½ · n / (n + 1) · coverage(d)) + ½ · applies(d)
    relevance(d) = 1 / (1 + exp(−(a + b ln evidence(d) + c ln(evidence(d) / best evidence))))

n: stems of the query, since a match of one word says less than the same share of many. read: the share of the
query's letters that the model can read. applies: 1 where a phrase of the record's `applies_when` occurs.
a, b, c: of the model's card (`Calibration`); docs/ranking.md has how
they were fitted, and how far the numbers are what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pi_rank._core.relevance import relevance
from pi_rank.turn.ranking import taken

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pi_rank.embedding.cards import Calibration
    from pi_rank.turn.ranking import Near, Ranking

COVERAGE = 0.5  # every word of the query counts as half a cosine


class Relevant(NamedTuple):
    """The rows of a ranking that belong, the best one's relevance, and whether none of what was found does.

    `best`: None where nothing tells.
    """

    ranking: Ranking
    best: float | None
    off_topic: bool


class Likely(NamedTuple):
    """The relevance of the rows that have enough, their places, and that of the best row, 0 without rows."""

    relevance: npt.NDArray[np.float64]
    kept: npt.NDArray[np.int64]
    best: float


def relevant(
    ranking: Ranking, query: str, calibration: Calibration | None, least: float | None = None
) -> Relevant:
    """What of a ranking belongs to its query, each row with its relevance.

    :param calibration: the model's; None where its card has none. Without it, and where only words or only
        ranks are known, whatever was found belongs, and no row has a relevance.
    :param least: the relevance that a row needs, the calibration's threshold by default; 0 keeps every row.
    """
    if calibration is None or ranking.near is None or not len(ranking.rows):
        return Relevant(ranking, None, False)
    found = likely(ranking.near, ranking.wanted, calibration, calibration.readable(query), least)
    told = ranking._replace(near=None)  # it has said what it has to say
    kept = told if len(found.kept) == len(ranking.rows) else taken(told, found.kept)
    return Relevant(kept._replace(relevance=found.relevance), found.best, not len(found.kept))


def likely(
    near: Near,
    wanted: npt.NDArray[np.float64] | None,
    calibration: Calibration,
    read: float = 1.0,
    least: float | None = None,
) -> Likely:
    """The relevance, by the formula above, of the rows that have `least`.

    :param wanted: float64[m], 1 for rows that apply; None for none.
    :param read: the share of the query's letters that the model can read.
    """
    return Likely(
        *relevance(
            near.cosines,
            near.coverage,
            wanted,
            COVERAGE * near.words / (near.words + 1),
            read,
            calibration.intercept,
            calibration.evidence,
            calibration.best,
            calibration.threshold if least is None else least,
        )
    )
