"""One search over one snapshot: ranked records, without a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from pi_rank.ranking.blend import DEFAULTS, SPELLED
from pi_rank.snapshot.columns import CONTESTED
from pi_rank.turn.belonging import Asked, belonging
from pi_rank.turn.named import with_named
from pi_rank.turn.processors import run_processors
from pi_rank.turn.ranking import hits, rank

if TYPE_CHECKING:
    from datetime import date

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.embedding.cards import Calibration
    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.results import Hit
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import RankingRule
    from pi_rank.turn.rerank import RerankStage

SearchMode = Literal["hybrid", "lexical", "semantic"]


class Search(NamedTuple):
    """What is searched for and how: `vector` is the query's, None without one; `place` is where it is
    asked, `today` the day, which counts only there; `spelled`: the model knows only letters of the words."""

    query: str
    k: int
    mode: SearchMode
    vector: npt.NDArray[np.float32] | None
    place: SessionContext | None
    today: date
    abstain: bool
    min_relevance: float | None = None
    spelled: bool = False


class Found(NamedTuple):
    """The hits of a search, best first, and what became of the reranker (see `Reranked`)."""

    hits: list[Hit]
    reranked: str | None


def run_search(
    snapshot: Snapshot,
    analyzer: FtsAnalyzer,
    asked: Search,
    rule: RankingRule,
    reranking: RerankStage,
    calibration: Calibration | None,
) -> Found:
    """The k best records for a query. A blank one finds nothing; one that names a record finds it first.

    A contested record is found only where it is named: it says nothing unasked.

    :param calibration: of the model (`pi_rank.turn.relevance`).
    """
    if not asked.query.strip():
        return Found([], None)
    if asked.place is None:
        eligible = snapshot.active.view(np.uint8)
        contested = (snapshot.live & (snapshot.columns.status == CONTESTED)).view(np.uint8)
    else:
        eligible, contested, *_ = run_processors(snapshot, asked.place, asked.today)
    words = "" if asked.mode == "semantic" else asked.query
    constants = SPELLED if asked.spelled else DEFAULTS
    ranking = rank(
        snapshot, analyzer, words, asked.vector, eligible, depth=asked.k, rule=rule, constants=constants
    )
    if rule == "default":
        least = asked.min_relevance if asked.abstain else 0.0
        what = Asked(asked.query, asked.place, asked.vector)
        ranking, *_ = belonging(snapshot, analyzer, ranking, what, eligible, calibration, least)
    reranked = None
    if asked.mode == "hybrid":
        ranking, reranked = reranking.apply(snapshot, asked.query, ranking, None)
    ranking = with_named(snapshot, ranking, asked.query, eligible | contested)
    places = list(range(min(asked.k, len(ranking.rows))))
    return Found(list(hits(snapshot, ranking, places)), reranked)
