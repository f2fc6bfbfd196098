"""The default order of the candidates: cosine and BM25 on one scale, read against the query's own hits.

    score     = semantic + lexical
    semantic  = cos(q, d) − ½ c·d + ½ f·d    c: mean vector of the semantic hits, f: of the two best rows
    lexical   = ½ w · (BM25(d) / max BM25 + coverage(d)) / 2
    w         = mean cosine of the semantic hits 10 to 50 / cosine of the best one

The semantic half is Rocchio's relevance feedback ("Relevance feedback in information retrieval", 1971), with
the two best rows in the place of documents that a user calls relevant. docs/ranking.md has the reason of each
part, the measurements, and what was tried and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pi_rank.ranking.lexical import LexicalIndex
    from pi_rank.ranking.semantic import VectorHits, VectorIndex

    Rows = NDArray[np.int32]
    Scores = NDArray[np.float64]


class BlendConstants(NamedTuple):
    """The rule's constants. Others are for benchmarks that say what these are worth."""

    # The lexical part lies between 0 and 1; the cosines of hits differ by half of that.
    words: float = 0.5
    # Coverage's share of the lexical part, BM25 has the rest.
    coverage: float = 0.5
    # Semantic hits that are near misses: past those that can be relevant, before those with nothing to say.
    background: slice = slice(9, 50)
    # What all semantic hits have in common does not tell them apart: half of it is taken away.
    centre: float = 0.5
    # Hits whose mean is the centre, however many were asked for.
    centre_hits: int = 100
    # What is near to the best rows is likely to be relevant too. Two: one may be wrong, a third often is.
    feedback: float = 0.5
    feedback_rows: int = 2


DEFAULTS = BlendConstants()

# A row with every word of the query says as much as half a cosine more.
COVERAGE = 0.5


class Blend(NamedTuple):
    """Rows best first, what each half adds to their scores, and how near the query came to any."""

    rows: Rows
    scores: Scores
    lexical: Scores
    semantic: Scores
    relevance: float


def blend(
    lexical: LexicalIndex,
    terms: Sequence[str],
    lexical_rows: Rows,
    vectors: VectorIndex,
    query_vector: NDArray[np.float32],
    hits: VectorHits,
    *,
    tie_rank: Rows,
    constants: BlendConstants = DEFAULTS,
) -> Blend:
    """The rows that either source found, by the sum of both scores; each row is scored by both sources.

    :param terms: the stems that `lexical_rows` were found with.
    :param lexical_rows: int32[m], the lexical hits.
    :param query_vector: float32[dimension] of unit length.
    :param hits: the semantic hits, at least one.
    :param tie_rank: int32[n_rows]; equal scores are ordered by it, ascending.
    :param constants: the rule's; the default ones are those of the formula above.
    """
    rows = _union(lexical_rows, hits.rows)
    bm25, coverage = lexical.score_rows(terms, rows)
    words = lexical_weight(hits.scores, constants) * lexical_part(bm25, coverage, constants.coverage)
    meaning = _semantic_part(vectors, query_vector, hits, rows, words, tie_rank, constants)
    scores = words + meaning
    order = np.lexsort((tie_rank[rows], -scores))
    near = relevance(rows, coverage, hits)
    return Blend(rows[order], scores[order], words[order], meaning[order], near)


def relevance(rows: Rows, coverage: Scores, hits: VectorHits) -> float:
    """The largest cosine + ½ coverage of any of `rows` (ascending), all semantic hits among them.

    It says whether anything answers the query at all: unlike a score, it is not read against the query's own
    hits. A row that is no semantic hit is given the last hit's cosine, which is no less than its own.
    """
    cosines = np.full(len(rows), hits.scores[-1])
    cosines[np.searchsorted(rows, hits.rows)] = hits.scores
    return float((cosines + COVERAGE * coverage).max())


def _union(one: Rows, other: Rows) -> Rows:
    """Both arrays' rows once, ascending; np.union1d takes 30 µs for it."""
    rows = np.sort(np.concatenate((one, other)))
    return rows[np.concatenate(([True], rows[1:] != rows[:-1]))]


def lexical_part(bm25: Scores, coverage: Scores, share: float = DEFAULTS.coverage) -> Scores:
    """BM25 by the best candidate's, and coverage, which has `share`: float64[m], 0 to 1.

    BM25 alone makes the best of a bad lot a full hit; coverage alone knows neither length nor frequency.
    """
    best = float(bm25.max(initial=0.0))
    words = share * coverage
    return (1 - share) / best * bm25 + words if best > 0 else words


def lexical_weight(cosines: Scores, constants: BlendConstants = DEFAULTS) -> float:
    """`words` where the best cosine does not stand out from the background, down to 0 the more it does.

    :param cosines: float64[h] of the semantic hits, best first.
    """
    background = cosines[constants.background]
    if not len(background) or cosines[0] <= 0:
        return constants.words
    return constants.words * max(0.0, float(background.mean()) / float(cosines[0]))


def _semantic_part(
    vectors: VectorIndex,
    query_vector: NDArray[np.float32],
    hits: VectorHits,
    rows: Rows,
    words: Scores,
    tie_rank: Rows,
    constants: BlendConstants,
) -> Scores:
    """float64[m]; a row that is not embedded yet is taken for an average one, so that its words decide."""
    centre = vectors.mean(hits.rows[: constants.centre_hits])
    part = vectors.products(query_vector - np.float32(constants.centre) * centre, rows)
    embedded = np.flatnonzero(~np.isnan(part))
    first = np.lexsort((tie_rank[rows[embedded]], -(part + words)[embedded]))
    best = rows[embedded[first[: constants.feedback_rows]]]
    part += constants.feedback * vectors.products(vectors.mean(best), rows)
    if len(embedded) < len(rows):
        part[np.isnan(part)] = part[embedded].mean()
    return part
