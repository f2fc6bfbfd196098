"""Candidates of one query: lexical hits and vector hits, fused, with the mode that was possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pi_rank.ranking.fusion import LEXICAL_WEIGHT, SEMANTIC_WEIGHT, provenance, weighted_rrf
from pi_rank.ranking.terms import matching_terms
from pi_rank.results import Hit, RankSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.results import Mode, SourceName
    from pi_rank.snapshot import Snapshot

    Rows = npt.NDArray[np.int32]

# Hits that each source hands to the fusion. The published fusion figures were measured at this depth.
DEPTH = 100


class RankedList(NamedTuple):
    """One source's rows, best first, and its weight in the fusion."""

    source: SourceName
    rows: Rows
    weight: float


class Ranking(NamedTuple):
    """Fused rows, best first, with what they were fused from. `strategy` says how vectors were searched."""

    rows: Rows
    scores: npt.NDArray[np.float64]
    mode: Mode
    lists: tuple[RankedList, ...]
    strategy: str | None


def rank(
    snapshot: Snapshot,
    analyzer: FtsAnalyzer,
    query: str,
    query_vector: npt.NDArray[np.float32] | None,
    eligible: npt.NDArray[np.uint8],
    *,
    depth: int = DEPTH,
) -> Ranking:
    """The eligible rows that a query's sources find, fused.

    :param query: the words for the lexical half; empty text leaves that half out.
    :param query_vector: float32[dimension], unit length; None leaves the semantic half out.
    :param eligible: uint8[n_rows], 1 where a row may be returned.
    :param depth: hits asked of each source.
    """
    lists = []
    strategy = None
    if query:
        lists.append(_lexical(snapshot, analyzer, query, eligible, depth))
    if query_vector is not None and snapshot.vectors is not None:
        hits = snapshot.vectors.search(query_vector, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
        lists.append(RankedList("semantic", hits.rows, SEMANTIC_WEIGHT))
        strategy = hits.strategy
    found = tuple(ranked for ranked in lists if len(ranked.rows))
    rows, scores = weighted_rrf(
        [ranked.rows for ranked in found],
        [ranked.weight for ranked in found],
        limit=2 * depth,
        tie_rank=snapshot.tie_rank,
    )
    return Ranking(rows, scores, _mode(found), found, strategy)


def _lexical(
    snapshot: Snapshot, analyzer: FtsAnalyzer, query: str, eligible: npt.NDArray[np.uint8], depth: int
) -> RankedList:
    terms = analyzer.query_terms(query)
    rows, _ = snapshot.lexical.search(terms, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    if len(rows):
        return RankedList("lexical", rows, LEXICAL_WEIGHT)
    terms = matching_terms(query, snapshot.lexical)
    rows, _ = snapshot.lexical.search(terms, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    return RankedList("terms", rows, LEXICAL_WEIGHT)


def _mode(lists: tuple[RankedList, ...]) -> Mode:
    if not lists:
        return "none"
    return "hybrid" if len(lists) > 1 else lists[0].source


def hits(snapshot: Snapshot, ranking: Ranking, rows: list[int]) -> tuple[Hit, ...]:
    """The given rows of a ranking as hits with their records and sources."""
    score_of = dict(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True))
    lists, weights = [ranked.rows for ranked in ranking.lists], [ranked.weight for ranked in ranking.lists]
    return tuple(
        Hit(
            id=snapshot.ids[row],
            score=score_of[row],
            record=snapshot.record(row),
            sources=tuple(
                RankSource(ranking.lists[number].source, rank, share) for number, rank, share in parts
            ),
        )
        for row, parts in zip(rows, provenance(rows, lists, weights), strict=True)
    )
