"""Candidates of one query: lexical hits and vector hits, ranked together, with the mode that was possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pi_rank._core.names import joined
from pi_rank.ranking.blend import DEFAULTS, BlendConstants, Part, blend
from pi_rank.ranking.fusion import LEXICAL_WEIGHT, SEMANTIC_WEIGHT, provenance, weighted_rrf
from pi_rank.ranking.terms import matching_terms
from pi_rank.results import Hit, RankSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.ranking.names import Named
    from pi_rank.ranking.semantic import VectorHits
    from pi_rank.results import Mode, SourceName
    from pi_rank.snapshot.snapshot import Snapshot

    Rows = npt.NDArray[np.int32]
    Scores = npt.NDArray[np.float64]

# "default" is blend.py's order; "rrf" is the published Weighted Reciprocal Rank Fusion and nothing else.
RankingRule = Literal["default", "rrf"]

# Hits that each source hands to the fusion. The published fusion figures were measured at this depth.
DEPTH = 100
# What a row gets for being named by its id: more than for any name in its text (pi_rank/ranking/names.py).
ID_SHARE = 8.0


class RankedList(NamedTuple):
    """One source's rows, best first, and its weight in the fusion."""

    source: SourceName
    rows: Rows
    weight: float


class Ranking(NamedTuple):
    """Rows, best first, with what they were ranked by. `strategy` says how vectors were searched.

    `parts`: for each list, what its source adds to the scores; None where the ranks in the lists alone make
    the scores. `relevance`: how near the query came to any row (see `Blend`); None where there is nothing to
    tell it by, and under "rrf". `names`: the rows that hold names of the query; None for none and for "rrf".
    `named`: what being named adds to the scores of the first rows, float64; None before
    named.py has put those first.
    """

    rows: Rows
    scores: Scores
    mode: Mode
    lists: tuple[RankedList, ...]
    strategy: str | None
    parts: tuple[Part, ...] | None = None
    relevance: float | None = None
    names: Named | None = None
    named: npt.NDArray[np.float64] | None = None


class QueryHits(NamedTuple):
    """The DEPTH best rows of each source that were found together with those of other queries.

    `words`: int32 rows of the lexical source. `vector`: the query's, with its hits; None where it has none.
    """

    words: Rows
    vector: npt.NDArray[np.float32] | None
    hits: VectorHits | None


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
    :param semantic: the query's vector, float32[dimension] of unit length, None to leave the semantic half
        out; or both sources' hits, where they are known.
    :param eligible: uint8[n_rows], 1 where a row may be returned.
    :param depth: hits asked of each source, DEPTH at least.
    :param constants: of the rule "default".
    """
    depth = max(depth, DEPTH)
    found_words, hits = None, None
    if isinstance(semantic, QueryHits):
        found_words, semantic, hits = semantic
    words, terms = _lexical(snapshot, analyzer, query, eligible, depth, found_words)
    names = snapshot.names.find(query, eligible) if query and rule == "default" else None
    if semantic is None or snapshot.vectors is None:
        return _fused(snapshot, (words,), depth, None)._replace(names=names)
    if hits is None:
        hits = snapshot.vectors.search(semantic, depth, eligible=eligible, tie_rank=snapshot.tie_rank)
    lists = (words, RankedList("semantic", hits.rows, SEMANTIC_WEIGHT))
    if rule == "rrf" or not len(hits.rows):
        return _fused(snapshot, lists, depth, hits.strategy)
    if not len(words.rows):
        found_by_meaning = _fused(snapshot, lists, depth, hits.strategy)
        return found_by_meaning._replace(relevance=float(hits.scores[0]), names=names)
    candidates = words.rows if names is None else joined(words.rows, names.rows)
    found = blend(
        snapshot.lexical,
        terms,
        candidates,
        snapshot.vectors,
        semantic,
        hits,
        tie_rank=snapshot.tie_rank,
        constants=constants,
    )
    words_part = found.lexical
    if candidates is not words.rows:  # behind the lexical hits are rows that only a name found
        words_part.ranks[words_part.ranks > len(words.rows)] = 0
    parts = (words_part, found.semantic)
    return Ranking(found.rows, found.scores, "hybrid", lists, hits.strategy, parts, found.relevance, names)


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
    snapshot: Snapshot,
    analyzer: FtsAnalyzer,
    query: str,
    eligible: npt.NDArray[np.uint8],
    depth: int,
    rows: Rows | None,
) -> tuple[RankedList, tuple[str, ...]]:
    """The lexical hits and the stems that found them; `rows` where they are known."""
    terms = analyzer.query_terms(query)
    if rows is None:
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


def hits(snapshot: Snapshot, ranking: Ranking, places: list[int]) -> tuple[Hit, ...]:
    """The rows at the given places of a ranking, as hits with their records and sources."""
    rows = ranking.rows[places].tolist()
    sources = _ranked_sources(ranking, rows) if ranking.parts is None else _scored_sources(ranking, places)
    by_name = [_named_source(ranking, place) for place in places]
    return tuple(
        Hit(snapshot.ids[row], score, snapshot.record(row), named + found)
        for row, score, named, found in zip(
            rows, ranking.scores[places].tolist(), by_name, sources, strict=True
        )
    )


def _named_source(ranking: Ranking, place: int) -> tuple[RankSource, ...]:
    if ranking.named is None or place >= len(ranking.named):
        return ()
    share = float(ranking.named[place])
    return (RankSource("id" if share >= ID_SHARE else "name", place + 1, share),)


def _ranked_sources(ranking: Ranking, rows: list[int]) -> list[tuple[RankSource, ...]]:
    lists, weights = [ranked.rows for ranked in ranking.lists], [ranked.weight for ranked in ranking.lists]
    return [
        tuple(RankSource(ranking.lists[number].source, rank, share) for number, rank, share in parts)
        for parts in provenance(rows, lists, weights)
    ]


def _scored_sources(ranking: Ranking, places: list[int]) -> list[tuple[RankSource, ...]]:
    assert ranking.parts is not None
    columns = []
    for ranked, (ranks, scores) in zip(ranking.lists, ranking.parts, strict=True):
        found = zip(ranks[places].tolist(), scores[places].tolist(), strict=True)
        columns.append([RankSource(ranked.source, rank or None, score) for rank, score in found])
    # A row without any of the words has nothing of the lexical source.
    return [tuple(part for part in parts if part.rank or part.score) for parts in zip(*columns, strict=True)]
