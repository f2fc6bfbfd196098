"""Weighted reciprocal rank fusion with dictionaries."""

from __future__ import annotations


def weighted_rrf(lists, weights, k, limit, tie_rank):
    """Lists of Python integers; [(row, score)], best first."""
    scores = {}
    for rows, weight in zip(lists, weights, strict=True):
        seen = set()
        for rank, row in enumerate(rows, 1):
            if row >= 0 and row not in seen:
                seen.add(row)
                scores[row] = scores.get(row, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda hit: (-hit[1], tie_rank[hit[0]]))[:limit]
