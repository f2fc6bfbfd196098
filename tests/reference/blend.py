"""The default ranking by its definition, one row at a time, from every row's BM25, coverage and vector."""

from __future__ import annotations

from statistics import fmean


def dot(a, b):
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def mean_vector(vectors):
    return [fmean(map(float, column)) for column in zip(*vectors, strict=True)]


def lexical_weight(cosines):
    """cosines: of the semantic hits, best first."""
    background = cosines[9:50]
    if not background or cosines[0] <= 0:
        return 0.5
    return 0.5 * max(0.0, fmean(background) / cosines[0])


def cosines(candidates, query, vectors):
    """By row; the average stands for those that have no vector."""
    known = {row: dot(query, vectors[row]) for row in candidates if vectors[row] is not None}
    return {row: known.get(row, fmean(known.values())) for row in candidates}


def blend(candidates, semantic_rows, query, vectors, bm25, coverage, tie_rank):
    """[(row, lexical share, semantic share)], best first.

    `vectors`, `bm25` and `coverage` by row; a row without a vector has None.
    """
    weight = lexical_weight([dot(query, vectors[row]) for row in semantic_rows])
    top = max(bm25[row] for row in candidates)
    words = {row: weight * ((bm25[row] / top if top else 0.0) + coverage[row]) / 2 for row in candidates}
    centre = mean_vector([vectors[row] for row in semantic_rows[:100]])
    embedded = [row for row in candidates if vectors[row] is not None]
    meaning = {row: dot(query, vectors[row]) - 0.5 * dot(centre, vectors[row]) for row in embedded}
    best = sorted(embedded, key=lambda row: (-words[row] - meaning[row], tie_rank[row]))[:2]
    feedback = mean_vector([vectors[row] for row in best])
    meaning = {row: meaning[row] + 0.5 * dot(feedback, vectors[row]) for row in embedded}
    average = fmean(meaning.values())
    shares = [(row, words[row], meaning.get(row, average)) for row in candidates]
    return sorted(shares, key=lambda share: (-share[1] - share[2], tie_rank[share[0]]))
