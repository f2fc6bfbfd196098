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

import numpy as np

from pi_rank.turn.ranking import WANTED_SHARE, taken

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.embedding.cards import Calibration
    from pi_rank.turn.ranking import Near, Ranking

    Scores = npt.NDArray[np.float64]

COVERAGE = 0.5  # every word of the query counts as half a cosine
LEAST = 0.02  # evidence below this, and below 0, is none


class Relevant(NamedTuple):
    """The rows of a ranking that belong, the best one's relevance, and whether none of what was found does.

    `best`: None where nothing tells.
    """

    ranking: Ranking
    best: float | None
    off_topic: bool


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
    speaks = evidence(ranking.near, calibration.readable(query), ranking.wanted)
    likely = probabilities(speaks, calibration)
    least = calibration.threshold if least is None else least
    kept = np.flatnonzero(likely >= least)
    found = taken(ranking._replace(relevance=likely), kept)
    return Relevant(found, float(likely.max()), not len(kept))


def evidence(near: Near, read: float, wanted: Scores | None = None) -> Scores:
    """What speaks for each row: float64[m]; the docstring above has the formula."""
    words = COVERAGE * near.words / (near.words + 1)
    found = np.maximum(read * near.cosines + words * near.coverage, LEAST)
    return found if wanted is None else found + WANTED_SHARE * wanted


def probabilities(evidence: Scores, calibration: Calibration) -> Scores:
    """The relevance of rows with this evidence (float64[m], at least one, above 0): float64[m], 0 to 1."""
    logs = np.log(evidence)
    own = calibration.intercept + calibration.evidence * logs
    likely: Scores = 1.0 / (1.0 + np.exp(-(own + calibration.best * (logs - logs.max()))))
    return likely
