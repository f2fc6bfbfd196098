"""What an exact scan and a search of the HNSW graph cost, relative to each other."""

from __future__ import annotations

import math

EF_SEARCH = 100  # candidates that the graph search keeps: recall@10 0.997 at 100,000 vectors
OVER_FETCH = 1.3  # so that k rows are left after filtering in nearly every search

# Costs in units of one scanned component; see benchmarks for how the ratios were measured.
_SKIP_ROW = 4.0
_SCAN_ROW = 40.0
_SCORE_COMPONENT = 1.0
_HOP = 22.0
_CALL = 40_000.0


def fetch_size(k: int, share: float) -> int:
    """How many nodes to ask the graph for, so that k eligible rows remain of an eligible `share` (0 to 1]."""
    return math.ceil(OVER_FETCH * k / share)


def exact_cost(rows: int, eligible: int, dimension: int, queries: int = 1) -> float:
    """Cost per query of scanning `eligible` of `rows` rows, `queries` of them in one pass."""
    return rows * _SKIP_ROW + eligible * (_SCAN_ROW + dimension * _SCORE_COMPONENT)


def graph_cost(fetch: int, nodes: int, newer: int, dimension: int) -> float:
    """Cost of asking a graph of `nodes` for `fetch` of them, and of scanning `newer` rows that it lacks."""
    kept = max(EF_SEARCH, fetch)
    return _CALL + kept * _HOP * dimension + newer * (_SCAN_ROW + dimension)
