"""What an exact scan and a search of the HNSW graph cost, relative to each other.

Constants are nanoseconds on one machine (x86-64 with AVX-512; 384 dimensions; vectors with the spectrum of
sentence embeddings; best of 25, processor time). Only their ratios matter. Measured and, in brackets,
predicted microseconds per search:

    vectors   eligible    k    scan           graph
    1,000     all        10    14 (22)        48 (56)
    10,000    all        10    90 (101)       61 (75)
    10,000    all       100    133 (146)      151 (193)
    10,000    a tenth    10    18 (32)        135 (193)
    100,000   all        10    974 (892)      89 (108)
    100,000   all       100    1120 (937)     319 (291)
    100,000   half      100    915 (937)      562 (567)
    100,000   a tenth    10    229 (201)      264 (291)
"""

from __future__ import annotations

import math

EF_SEARCH = 100  # candidates that a graph search keeps at least
OVER_FETCH = 3.0  # nodes asked for per row wanted: recall@100 of 100,000 records is .984, with 2 it is .970

CALL = 8_000.0  # arguments checked, arrays made
SKIPPED_ROW = 0.15  # eight flags are looked at together
ROW = 2.5
COMPONENT = 0.016  # of one row's codes
GAPS = 2.0  # rows picked here and there cost this much more than rows in a line: nothing is fetched ahead
WANTED = 500.0  # per row of the result: bounds kept, vectors scored, hits sorted
HOP = 0.11  # per component of a candidate that the graph keeps, times the fourth root of its size
PASS_QUERIES = 8  # queries that make a pass worth the name: the codes come from the cache, gaps cost nothing
PASS_SHARE = 0.75  # what a row costs then


def fetch_size(k: int, share: float) -> int:
    """How many nodes to ask a graph for, so that k rows remain where a `share` (0 to 1] is eligible."""
    return max(EF_SEARCH, math.ceil(OVER_FETCH * k / share))


def exact_cost(rows: int, eligible: int, dimension: int, k: int, queries: int = 1) -> float:
    """Cost per query of scanning `eligible` of `rows` rows for the k best, `queries` in one pass."""
    row = ROW + dimension * COMPONENT
    scanned = PASS_SHARE * eligible if queries >= PASS_QUERIES else min(GAPS * eligible, rows)
    return CALL + rows * SKIPPED_ROW + scanned * row + min(k, eligible) * WANTED


def graph_cost(fetch: int, nodes: int, newer: int, dimension: int) -> float:
    """Cost of asking a graph of `nodes` for `fetch` of them, and of scanning `newer` rows that it lacks."""
    hop = dimension * HOP * math.pow(nodes, 1 / 4)
    found = fetch * (hop + WANTED / OVER_FETCH)
    return 2 * CALL + found + newer * (ROW + dimension * COMPONENT)
