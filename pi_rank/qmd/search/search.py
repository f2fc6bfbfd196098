"""`search`, `vsearch` and `query`: from the question to ranked documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pi_rank.qmd.config import Collection
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.shelves.found import Found, Ranked
from pi_rank.qmd.shelves.query_language import Document, Search, parse_document

DEPTH = 100  # documents that each source hands to the fusion
LEX, VEC = "lex", "vec"
RRF_K = 60  # as published; the core's own constant is behind an import of numpy
_SOURCE_NAMES = {"semantic": "vec", "hybrid": "fts+vec"}
# Weight of the first search of a structured query, which the caller is told to put their best one in.
FIRST_WEIGHT, OTHER_WEIGHT = 2.0, 1.0


class Source(NamedTuple):
    """One ranking that went into an answer."""

    search: Search
    weight: float
    ranked: Ranked


class Answer(NamedTuple):
    """Documents best first, how they were ranked, and the rankings that they come from."""

    mode: str
    found: list[Found]
    sources: list[Source]


def search(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By words: all of them, or, where no document has all, any."""
    ranked = library.lexical(text, collections, k)
    return Answer(ranked.mode, ranked.found, [Source(Search(LEX, text), 1.0, ranked)])


def vsearch(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By meaning; by any of the words where meaning cannot be had in time."""
    document = parse_document(text)
    question = " ".join(each.query for each in document.searches) if document else text
    ranked = library.semantic(question, collections, k)
    if ranked is None:
        ranked = library.lexical(question, collections, k, sentence=True)
    return Answer(ranked.mode, ranked.found, [Source(Search(VEC, question), 1.0, ranked)])


def query(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By words and meaning together, fused by weighted reciprocal ranks.

    A structured query by its own lines.
    """
    document = parse_document(text)
    if document is not None:
        return structured(library, document, collections, k)
    ranked = library.hybrid(text, collections, k)
    if ranked is not None:
        return Answer(ranked.mode, ranked.found, [Source(Search(LEX, text), 1.0, ranked)])
    words = library.lexical(text, collections, max(k, DEPTH), sentence=True)
    meaning = library.semantic(text, collections, max(k, DEPTH))
    if meaning is None or not meaning.found:
        return Answer(words.mode, words.found[:k], [Source(Search(LEX, text), 1.0, words)])
    from pi_rank.ranking.fusion import LEXICAL_WEIGHT, SEMANTIC_WEIGHT

    sources = [
        Source(Search(LEX, text), LEXICAL_WEIGHT, words),
        Source(Search(VEC, text), SEMANTIC_WEIGHT, meaning),
    ]
    return fused([source for source in sources if source.ranked.found], k)


def structured(library: Library, document: Document, collections: list[Collection], k: int) -> Answer:
    """The searches of a structured query, the first with twice the weight of each other one."""
    sources = []
    for number, each in enumerate(document.searches):
        weight = OTHER_WEIGHT if number else FIRST_WEIGHT
        ranked = _ranked(library, each, collections, max(k, DEPTH))
        sources.append(Source(each, weight, ranked))
    known = [source for source in sources if source.ranked.found]
    if len(known) < 2:
        ranked = known[0].ranked if known else Ranked("none", [])
        return Answer(ranked.mode, ranked.found[:k], sources)
    return fused(known, k)


def fused(sources: list[Source], k: int) -> Answer:
    """The sources' rankings as one. A score of 1 is the first place in every source.

    :param sources: at least one, none of them empty.
    """
    import numpy as np

    from pi_rank.ranking.fusion import weighted_rrf

    documents = {found.uri: found for source in sources for found in reversed(source.ranked.found)}
    order = sorted(documents)
    number = {uri: at for at, uri in enumerate(order)}
    lists = [np.array([number[found.uri] for found in each.ranked.found], np.int32) for each in sources]
    weights = [source.weight for source in sources]
    ties = np.arange(len(order), dtype=np.int32)
    rows, scores = weighted_rrf(lists, weights, k=RRF_K, limit=k, tie_rank=ties)
    most = sum(weights) / (RRF_K + 1)
    found = [
        _best_span(order[row], sources)._replace(score=score / most)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    ]
    modes = {source.ranked.mode for source in sources}
    return Answer("hybrid" if "semantic" in modes and len(modes) > 1 else modes.pop(), found, sources)


def explain(answer: Answer, found: Found) -> dict[str, Any]:
    """Where a document's score comes from: qmd's keys, and `mode`. Nothing is reranked here."""
    parts = [part for index, source in enumerate(answer.sources) if (part := _part(index, source, found))]
    base = sum(part["rrfContribution"] for part in parts)
    return {
        "mode": answer.mode,
        "ftsScores": [part["backendScore"] for part in parts if part["source"] == "fts"],
        "vectorScores": [part["backendScore"] for part in parts if part["source"] == "vec"],
        "rrf": {
            "rank": 1 + [each.uri for each in answer.found].index(found.uri),
            "baseScore": base,
            "topRankBonus": 0,
            "totalScore": base,
            "contributions": parts,
        },
        "rerankScore": 0,
        "blendedScore": found.score,
    }


def _part(index: int, source: Source, found: Found) -> dict[str, Any] | None:
    """What one ranking gave to a document; None where it is not in it."""
    ranks = {each.uri: rank for rank, each in enumerate(source.ranked.found, 1)}
    rank = ranks.get(found.uri)
    if rank is None:
        return None
    return {
        "listIndex": index,
        "source": _SOURCE_NAMES.get(source.ranked.mode, "fts"),
        "queryType": source.search.type,
        "query": source.search.query,
        "mode": source.ranked.mode,
        "rank": rank,
        "weight": source.weight,
        "backendScore": source.ranked.found[rank - 1].score,
        "rrfContribution": source.weight / (RRF_K + rank),
    }


def _ranked(library: Library, each: Search, collections: list[Collection], k: int) -> Ranked:
    if each.type == LEX:
        return library.lexical(each.query, collections, k)
    ranked = library.semantic(each.query, collections, k)
    return library.lexical(each.query, collections, k, sentence=True) if ranked is None else ranked


def _best_span(uri: str, sources: Sequence[Source]) -> Found:
    """The document as one of its sources found it, with the place that a search by meaning knows."""
    versions = [found for source in sources for found in source.ranked.found if found.uri == uri]
    return next((found for found in versions if found.span), versions[0])
