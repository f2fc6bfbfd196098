"""Rules that change the default order afterwards: by hubs, by near-duplicates, by diversity."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.retrieval.metrics import CUT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.retrieval.rules import Question, Rows, Rule
    from pi_rank.ranking.semantic import VectorIndex

POOL = 60  # rows of the default order that may come among the first ten
NEIGHBOURS = 10


def widened(question: Question) -> Rows:
    """The default rule with every record as a candidate."""
    depth = len(question.snapshot.ids)
    return question.ranked(question.text, question.vector, depth=depth).rows


def without_hubs(penalty: float) -> Rule:
    """The default order, less `penalty` times how near a record is to its neighbours."""

    def rule(question: Question) -> Rows:
        found = question.ranked(question.text, question.vector)
        vectors = _vectors(question)
        scores = found.scores - penalty * hubness(vectors)[vectors.row_node[found.rows]]
        rows: Rows = found.rows[np.lexsort((question.snapshot.tie_rank[found.rows], -scores))]
        return rows

    return rule


@lru_cache(maxsize=16)
def hubness(vectors: VectorIndex) -> NDArray[np.float32]:
    """float32[count]: the mean cosine of each vector with its NEIGHBOURS nearest others."""
    matrix = vectors.vectors(0, vectors.count)
    cosines = matrix @ matrix.T
    np.fill_diagonal(cosines, -np.inf)
    count = min(NEIGHBOURS, len(matrix) - 1)
    nearest = np.sort(cosines, axis=1)[:, len(matrix) - count :]
    means: NDArray[np.float32] = nearest.mean(axis=1)
    return means


def distinct(most: float) -> Rule:
    """The default order without records whose cosine with a better one is `most` or above."""

    def rule(question: Question) -> Rows:
        rows, _, cosines = _pool(question)
        kept: list[int] = []
        for place in range(len(rows)):
            if not (cosines[place, kept] >= most).any():
                kept.append(place)
        return rows[kept]

    return rule


def diverse(penalty: float) -> Rule:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): less `penalty` times the cosine with
    the nearest record that stands above."""

    def rule(question: Question) -> Rows:
        rows, scores, cosines = _pool(question)
        kept: list[int] = []
        nearest = np.zeros(len(rows))
        for _ in range(min(CUT, len(rows))):
            value = scores - penalty * nearest
            value[kept] = -np.inf
            kept.append(int(value.argmax()))
            nearest = np.maximum(nearest, cosines[kept[-1]])
        return rows[kept]

    return rule


def _pool(question: Question) -> tuple[Rows, NDArray[np.float64], NDArray[np.float32]]:
    """The first POOL rows of the default order, their scores, and all their cosines with each other."""
    found = question.ranked(question.text, question.vector)
    rows = found.rows[:POOL]
    vectors = _vectors(question)
    matrix = vectors.vectors(0, vectors.count)[vectors.row_node[rows]]
    return rows, found.scores[:POOL], matrix @ matrix.T


def _vectors(question: Question) -> VectorIndex:
    vectors = question.snapshot.vectors
    assert vectors is not None, "benchmarks embed every document"
    return vectors
