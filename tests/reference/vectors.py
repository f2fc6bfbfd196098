"""What the vector scan must return, in plain Python: every row scored, everything sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def score(a: Sequence[float], b: Sequence[float]) -> float:
    """Inner product of two float32 vectors in float64, in sixteen lanes of fixed order."""
    lanes = [0.0] * 16
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        lanes[i % 16] += float(x) * float(y)
    lanes = [lanes[j] + lanes[j + 8] for j in range(8)]
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


def search(vectors, row_node, query, k, tie_rank, eligible=None, rows=None):
    """The k best of the rows that are eligible and have a vector, as (row, score), best first."""
    candidates = range(len(row_node)) if rows is None else rows
    scored = [
        (-score(query, vectors[row_node[row]]), int(tie_rank[row]), int(row))
        for row in candidates
        if row_node[row] >= 0 and (eligible is None or eligible[row])
    ]
    return [(row, -negated) for negated, _, row in sorted(scored)[:k]]


def unit_vectors(seed: int, n: int, dimension: int, distinct: int | None = None):
    """n random unit vectors, `distinct` different ones; a few directions dominate, as in embeddings."""
    random = np.random.default_rng(seed)
    spectrum = 1.0 / np.sqrt(np.arange(1, dimension + 1))
    raw = random.standard_normal((distinct or n, dimension)) * spectrum
    unit = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    return unit if distinct is None else unit[random.integers(0, distinct, n)]
