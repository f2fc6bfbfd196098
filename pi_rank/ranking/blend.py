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

from pi_rank._core import blend as core

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pi_rank.ranking.lexical import LexicalIndex
    from pi_rank.ranking.semantic import VectorHits, VectorIndex

    Rows = NDArray[np.int32]
    Scores = NDArray[np.float64]


class BlendConstants(NamedTuple):
    """The rule's constants. Others are for benchmarks that say what these are worth."""

    # The lexical part lies between 0 and 1; the cosines of hits differ by half of that.
    words: float = 0.5
    # Coverage's share of the lexical part, BM25 has the rest. BM25 alone makes the best of a bad lot a full
    # hit; coverage alone knows neither length nor frequency.
    coverage: float = 0.5
    # Semantic hits that are near misses, first to last: past those that can be relevant, before those with
    # nothing to say.
    background: tuple[int, int] = (9, 50)
    # What all semantic hits have in common does not tell them apart: half of it is taken away.
    centre: float = 0.5
    # Hits whose mean is the centre, however many were asked for.
    centre_hits: int = 100
    # What is near to the best rows is likely to be relevant too. Two: one may be wrong, a third often is.
    feedback: float = 0.5
    feedback_rows: int = 2


DEFAULTS = BlendConstants()
# Where the model knows only letters of the query's words, words decide, and meaning what they leave open.
SPELLED = BlendConstants(words=2.0)


class Part(NamedTuple):
    """What one source adds to each row's score, and the row's rank among its hits: from 1, 0 for none."""

    ranks: Rows
    scores: Scores


class Blend(NamedTuple):
    """Rows best first, what each source adds to their scores, and what each row has of the query itself.

    `cosines`, `coverage`: float64[m], of the rows; unlike the scores they are not read against the query's
    other hits. A row that is not embedded yet has the others' average cosine.
    """

    rows: Rows
    scores: Scores
    lexical: Part
    semantic: Part
    cosines: Scores
    coverage: Scores


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

    A row that is not embedded yet gets the others' average semantic score, so that its words decide.

    :param terms: the stems that `lexical_rows` were found with.
    :param lexical_rows: int32[m], the lexical hits.
    :param query_vector: float32[dimension] of unit length.
    :param hits: the semantic hits, at least one.
    :param tie_rank: int32[n_rows]; equal scores are ordered by it, ascending.
    :param constants: the rule's; the default ones are those of the formula above.
    :raises ValueError: no semantic hit, a hit that is no row, or an array of another length.
    """
    rows, scores, words, meaning, cosines, coverage = core.blend(
        *lexical.scored_by(terms),
        lexical_rows,
        vectors.table,
        query_vector,
        hits.rows,
        hits.scores,
        tie_rank,
        constants,
    )
    return Blend(rows, scores, Part(*words), Part(*meaning), cosines, coverage)
