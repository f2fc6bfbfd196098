"""Candidates of one query: lexical hits and vector hits, ranked together, with the mode that was possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pi_rank._core.names import joined
from pi_rank.ranking.blend import DEFAULTS, BlendConstants, Part, blend
from pi_rank.ranking.fusion import LEXICAL_WEIGHT, SEMANTIC_WEIGHT, provenance, weighted_rrf
from pi_rank.ranking.terms import matching_terms
from pi_rank.results import Hit, RankSource

if TYPE_CHECKING:
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
WHOLE_SHARE = 6.0  # of a name that stands there as the query writes it
# What a row gets for a phrase of its `applies_when`: as much as all words of a query can give.
WANTED_SHARE = 0.5


class RankedList(NamedTuple):
    """One source's rows, best first, and its weight in the fusion."""

    source: SourceName
    rows: Rows
    weight: float


class Near(NamedTuple):
    """What each row of a ranking has of the query itself, float64[m], and the number of the query's stems."""

    cosines: Scores
    coverage: Scores
    words: int


class Ranking(NamedTuple):
    """Rows, best first, with what they were ranked by. `strategy` says how vectors were searched.

    `parts`: for each list, what its source adds to the scores; None where the ranks in the lists alone make
    the scores. `near`: None where only words or only ranks are known. `relevance`: how likely each row
    belongs (`pi_rank.turn.relevance`), float64[m]; None where nothing tells. `wanted`: 1 for rows of which a
    phrase of `applies_when` occurs, float64[m]; None where there is none. `names`: the rows that hold names
    of the query; None for none and for "rrf". `named`: what being named adds to the scores of the first rows,
    float64; None before named.py has put those first.
    """

    rows: Rows
    scores: Scores
    mode: Mode
    lists: tuple[RankedList, ...]
    strategy: str | None
    parts: tuple[Part, ...] | None = None
    near: Near | None = None
    relevance: Scores | None = None
    wanted: Scores | None = None
    names: Named | None = None
    named: Scores | None = None


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
        only = _fused(snapshot, lists, depth, hits.strategy)
        return only._replace(near=Near(hits.scores, np.zeros(len(hits.scores)), len(terms)), names=names)
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
    near = Near(found.cosines, found.coverage, len(terms))
    return Ranking(found.rows, found.scores, "hybrid", lists, hits.strategy, parts, near, names=names)


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


def taken(ranking: Ranking, places: npt.NDArray[np.intp]) -> Ranking:
    """The ranking's rows at some places, in their order."""
    near, parts = ranking.near, ranking.parts
    return ranking._replace(
        rows=ranking.rows[places],
        scores=ranking.scores[places],
        parts=None if parts is None else tuple(Part(ranks[places], own[places]) for ranks, own in parts),
        near=None if near is None else Near(near.cosines[places], near.coverage[places], near.words),
        relevance=None if ranking.relevance is None else ranking.relevance[places],
        wanted=None if ranking.wanted is None else ranking.wanted[places],
        named=None if ranking.named is None else _still_named(ranking, places),
    )


def taken_or_new(ranking: Ranking, places: npt.NDArray[np.intp]) -> Ranking:
    """As `taken`, where a place of -1 is a row that the ranking did not find: all of it is 0."""
    new = places < 0
    if not new.any():
        return taken(ranking, places)
    longer = _with_a_row_of_zeros(ranking)
    return taken(longer, np.where(new, len(ranking.rows), places))


def _with_a_row_of_zeros(ranking: Ranking) -> Ranking:
    def longer(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.append(values, values.dtype.type(0))

    near, parts = ranking.near, ranking.parts
    return ranking._replace(
        rows=longer(ranking.rows),
        scores=longer(ranking.scores),
        parts=None if parts is None else tuple(Part(longer(ranks), longer(own)) for ranks, own in parts),
        near=None if near is None else Near(longer(near.cosines), longer(near.coverage), near.words),
        relevance=None if ranking.relevance is None else longer(ranking.relevance),
        wanted=None if ranking.wanted is None else longer(ranking.wanted),
    )


def _still_named(ranking: Ranking, places: npt.NDArray[np.intp]) -> Scores:
    """What being named adds to the first rows at these places of a ranking."""
    assert ranking.named is not None
    shares = np.zeros(len(ranking.rows))
    shares[: len(ranking.named)] = ranking.named
    moved = shares[places]
    return moved[: int(np.flatnonzero(moved).max(initial=-1)) + 1]


def hits(snapshot: Snapshot, ranking: Ranking, places: list[int]) -> tuple[Hit, ...]:
    """The rows at the given places of a ranking, as hits with their records and sources."""
    rows = ranking.rows[places].tolist()
    sources = _ranked_sources(ranking, rows) if ranking.parts is None else _scored_sources(ranking, places)
    extra = [_extra_sources(ranking, at) for at in places]
    likely = [None] * len(places) if ranking.relevance is None else ranking.relevance[places].tolist()
    return tuple(
        Hit(snapshot.ids[row], score, snapshot.record(row), own + found, relevance)
        for row, score, own, found, relevance in zip(
            rows, ranking.scores[places].tolist(), extra, sources, likely, strict=True
        )
    )


def _extra_sources(ranking: Ranking, place: int) -> tuple[RankSource, ...]:
    found: tuple[RankSource, ...] = ()
    if ranking.named is not None and place < len(ranking.named):
        share = float(ranking.named[place])
        found = (RankSource("id" if share >= ID_SHARE else "name", place + 1, share),)
    if ranking.wanted is None or not ranking.wanted[place]:
        return found
    return (*found, RankSource("applies", None, WANTED_SHARE))


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
