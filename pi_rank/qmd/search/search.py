"""`search`, `vsearch` and `query`: from the question to ranked documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pi_rank.qmd.config import Collection
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.shelves.found import OFF_TOPIC, Found, Ranked, relevance
from pi_rank.qmd.shelves.query_language import Document, Search, parse_document

DEPTH = 100  # documents that each source hands to the fusion
LEX, VEC = "lex", "vec"
RRF_K = 60  # of the reciprocal ranks that `explain` gives, as qmd does
_SOURCE_NAMES = {"semantic": "vec", "hybrid": "fts+vec"}
# Weight of the first search of a structured query, which the caller is told to put their best one in.
FIRST_WEIGHT, OTHER_WEIGHT = 2.0, 1.0


class Source(NamedTuple):
    """One ranking that went into an answer."""

    search: Search
    weight: float
    ranked: Ranked


class Answer(NamedTuple):
    """Documents best first, how they were ranked, and the rankings that they come from.

    `why`: what of the question could not be ranked by meaning, in a clause; empty where nothing is missing.
    """

    mode: str
    found: list[Found]
    sources: list[Source]
    why: str = ""


def search(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By words: all of them, or, where no document has all, any; records that the text names by id first."""
    answer = _of_one(Search(LEX, text), library.lexical(text, collections, k))
    return _with_named(answer, library.named(text, collections), k)


def vsearch(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By meaning; by any of the words where meaning cannot be had in time."""
    document = parse_document(text)
    question = " ".join(each.query for each in document.searches) if document else text
    answer = _of_one(Search(VEC, question), _by_meaning(library, question, collections, k))
    return _with_named(answer, library.named(question, collections), k)


def query(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    """By words and meaning together; a structured query by its own lines."""
    document = parse_document(text)
    if document is not None:
        return structured(library, document, collections, k)
    return _with_named(_plain(library, text, collections, k), library.named(text, collections), k)


def _plain(library: Library, text: str, collections: list[Collection], k: int) -> Answer:
    ranked = library.hybrid(text, collections, k)
    if ranked.found or ranked.mode == OFF_TOPIC:
        return _of_one(Search(LEX, text), ranked)
    words = library.lexical(text, collections, max(k, DEPTH), sentence=True)
    meaning = library.semantic(text, collections, max(k, DEPTH))
    sources = [Source(Search(LEX, text), 1.0, words), Source(Search(VEC, text), 1.0, meaning)]
    return fused(sources, k)


def structured(library: Library, document: Document, collections: list[Collection], k: int) -> Answer:
    """The searches of a structured query, the first with twice the weight of each other one."""
    depth = max(k, DEPTH)
    sources = []
    for number, each in enumerate(document.searches):
        by = _by_words if each.type == LEX else _by_meaning
        weight = OTHER_WEIGHT if number else FIRST_WEIGHT
        sources.append(Source(each, weight, by(library, each.query, collections, depth)))
    return fused(sources, k)


def fused(sources: list[Source], k: int) -> Answer:
    """The documents of all sources by their relevance, which is their score.

    What several lines say by words, or by meaning, is their weighted mean; then a document misses the
    question where it misses it both ways.
    """
    documents = {found.uri: found for source in sources for found in reversed(source.ranked.found)}
    words, meaning = ([each for each in sources if _is_semantic(each) is kind] for kind in (False, True))
    cosines, shares = _mean_scores(meaning), _mean_scores(words)
    scores = {uri: relevance(cosines.get(uri, 0.0), shares.get(uri, 0.0)) for uri in documents}
    order = sorted(documents, key=lambda uri: (-scores[uri], uri))[:k]
    found = [_best_span(uri, sources)._replace(score=scores[uri]) for uri in order]
    modes = dict.fromkeys(each.ranked.mode for each in sources if each.ranked.found)
    mode = "hybrid" if "semantic" in modes and len(modes) > 1 else next(iter(modes), "none")
    return Answer(mode, found, sources, _why(sources))


def _mean_scores(sources: list[Source]) -> dict[str, float]:
    """Each document's score, averaged over the sources by their weights; 0 where one did not find it."""
    total = sum(source.weight for source in sources)
    scores: dict[str, float] = {}
    for source in sources:
        for found in source.ranked.found:
            scores[found.uri] = scores.get(found.uri, 0.0) + found.score * source.weight / total
    return scores


def _is_semantic(source: Source) -> bool:
    """Whether the scores are cosines; an empty ranking counts with those that were asked for."""
    mode = source.ranked.mode
    return mode == "semantic" or (mode == "none" and source.search.type != LEX)


def told(answer: Answer) -> str:
    """A sentence on what the answer's `why` means for it."""
    by_words = answer.mode in ("all", "any", "terms") or not answer.found
    return f"{'Ranked by words' if by_words else 'Not all was ranked by meaning'}: {answer.why}."


def _why(sources: list[Source]) -> str:
    return "; ".join(dict.fromkeys(source.ranked.why for source in sources if source.ranked.why))


def _of_one(asked: Search, ranked: Ranked) -> Answer:
    return Answer(ranked.mode, ranked.found, [Source(asked, 1.0, ranked)], ranked.why)


def _with_named(answer: Answer, named: list[Found], k: int) -> Answer:
    """The answer with the records that the question names before all others."""
    if not named:
        return answer
    known = {found.uri for found in named}
    rest = [found for found in answer.found if found.uri not in known]
    mode = answer.mode if answer.found else "id"
    return answer._replace(mode=mode, found=[*named, *rest][:k])


def _by_words(library: Library, text: str, collections: list[Collection], k: int) -> Ranked:
    return library.lexical(text, collections, k)


def _by_meaning(library: Library, text: str, collections: list[Collection], k: int) -> Ranked:
    """By meaning, or by any of the words where nothing can be told by meaning."""
    ranked = library.semantic(text, collections, k)
    if ranked.found or not ranked.why:
        return ranked
    return library.lexical(text, collections, k, sentence=True)._replace(why=ranked.why)


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


def _best_span(uri: str, sources: Sequence[Source]) -> Found:
    """The document as one of its sources found it, with the place that a search by meaning knows."""
    versions = [found for source in sources for found in source.ranked.found if found.uri == uri]
    return next((found for found in versions if found.span), versions[0])
