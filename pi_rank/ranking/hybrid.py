"""Candidates of one query: lexical hits and vector hits, ranked together, with the mode that was possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pi_rank.ranking.blend import DEFAULTS, BlendConstants, blend
from pi_rank.ranking.fusion import LEXICAL_WEIGHT, SEMANTIC_WEIGHT, provenance, weighted_rrf
from pi_rank.ranking.terms import matching_terms
from pi_rank.results import Hit, RankSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.ranking.semantic import VectorHits
    from pi_rank.results import Mode, SourceName
    from pi_rank.snapshot import Snapshot

    Rows = npt.NDArray[np.int32]
    Scores = npt.NDArray[np.float64]

# "default" is blend.py's order; "rrf" is the published Weighted Reciprocal Rank Fusion and nothing else.
RankingRule = Literal["default", "rrf"]

# Hits that each source hands to the fusion. The published fusion figures were measured at this depth.
DEPTH = 100


class RankedList(NamedTuple):
    """One source's rows, best first, and its weight in the fusion."""

    source: SourceName
    rows: Rows
    weight: float


class Ranking(NamedTuple):
    """Rows, best first, with what they were ranked by. `strategy` says how vectors were searched.

    `shares`: for each list, float64 by place in `rows`, what its source adds to the score there; None where
    the ranks in the lists make the score. `relevance`: how near the query came to any row (blend.relevance);
    None where there is nothing to tell it by, and under "rrf".
    """

    rows: Rows
    scores: Scores
    mode: Mode
    lists: tuple[RankedList, ...]
    strategy: str | None
    shares: tuple[Scores, ...] | None = None
    relevance: float | None = None


class QueryHits(NamedTuple):
    """A query's vector, and the DEPTH best rows by it that were found with those of other queries."""

    vector: npt.NDArray[np.float32]
    hits: VectorHits


def rank(
    snapshot: Snapshot,
    analyzer: FtsAnalyzer,
    query: str,
    semantic: npt.NDArray[np.float32] | QueryHits | None,
    eligible: npt.NDArray[np.uint8],
    *,
    depth: int = DEPTH,
    rule: RankingRule = "default",
    constants: BlendConstants = DEFAULTS,
) -> Ranking:
    """The eligible rows that a query's sources find, in one order. One source alone keeps its own.

    :param query: the words for the lexical half; empty text leaves that half out.
    :param semantic: the query's vector, float32[dimension] of unit length, and its hits where they are known;
        None leaves the semantic half out.
    :param eligible: uint8[n_rows], 1 where a row may be returned.
    :param depth: hits asked of each source, DEPTH at least.
    :param constants: of the rule "default".
    """
    depth = max(depth, DEPTH)
    words, terms = _lexical(snapshot, analyzer, query, eligible, depth)
    if semantic is None or snapshot.vectors is None:
        return _fused(snapshot, (words,), depth, None)
    if isinstance(semantic, QueryHits):
        query_vector, hits = semantic
    else:
        query_vector = semantic
        hits = snapshot.vectors.search(query_vector, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    lists = (words, RankedList("semantic", hits.rows, SEMANTIC_WEIGHT))
    if rule == "rrf" or not len(hits.rows):
        return _fused(snapshot, lists, depth, hits.strategy)
    if not len(words.rows):
        return _fused(snapshot, lists, depth, hits.strategy)._replace(relevance=float(hits.scores[0]))
    found = blend(
        snapshot.lexical,
        terms,
        words.rows,
        snapshot.vectors,
        query_vector,
        hits,
        tie_rank=snapshot.tie_rank,
        constants=constants,
    )
    shares = (found.lexical, found.semantic)
    return Ranking(found.rows, found.scores, "hybrid", lists, hits.strategy, shares, found.relevance)


def _fused(snapshot: Snapshot, lists: tuple[RankedList, ...], depth: int, strategy: str | None) -> Ranking:
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
) -> tuple[RankedList, tuple[str, ...]]:
    """The lexical hits and the stems that found them."""
    terms = analyzer.query_terms(query)
    rows, _ = snapshot.lexical.search(terms, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    if len(rows) or not query:
        return RankedList("lexical", rows, LEXICAL_WEIGHT), terms
    terms = matching_terms(query, snapshot.lexical)
    rows, _ = snapshot.lexical.search(terms, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    return RankedList("terms", rows, LEXICAL_WEIGHT), terms


def _mode(lists: tuple[RankedList, ...]) -> Mode:
    if not lists:
        return "none"
    return "hybrid" if len(lists) > 1 else lists[0].source


def hits(snapshot: Snapshot, ranking: Ranking, rows: list[int]) -> tuple[Hit, ...]:
    """The given rows of a ranking as hits with their records and sources."""
    place_of = dict(zip(ranking.rows.tolist(), range(len(ranking.rows)), strict=True))
    places = [place_of[row] for row in rows]
    sources = (
        _sources_of_ranks(ranking, rows) if ranking.shares is None else _sources_of_shares(ranking, places)
    )
    return tuple(
        Hit(snapshot.ids[row], float(ranking.scores[place]), snapshot.record(row), found)
        for row, place, found in zip(rows, places, sources, strict=True)
    )


def _sources_of_ranks(ranking: Ranking, rows: list[int]) -> list[tuple[RankSource, ...]]:
    lists, weights = [ranked.rows for ranked in ranking.lists], [ranked.weight for ranked in ranking.lists]
    return [
        tuple(RankSource(ranking.lists[number].source, rank, share) for number, rank, share in parts)
        for parts in provenance(rows, lists, weights)
    ]


def _sources_of_shares(ranking: Ranking, places: list[int]) -> list[tuple[RankSource, ...]]:
    assert ranking.shares is not None
    columns = []
    for ranked, shares in zip(ranking.lists, ranking.shares, strict=True):
        ranks = dict(zip(ranked.rows.tolist(), range(1, len(ranked.rows) + 1), strict=True))
        found = zip(ranking.rows[places].tolist(), shares[places].tolist(), strict=True)
        columns.append([RankSource(ranked.source, ranks.get(row), share) for row, share in found])
    # A row without any of the words has nothing of the lexical source.
    return [tuple(part for part in parts if part.rank or part.score) for parts in zip(*columns, strict=True)]
