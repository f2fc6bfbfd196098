"""What an exact scan and a search of the HNSW graph cost, relative to each other.

Constants are nanoseconds on one machine (x86-64 with AVX-512; 384 dimensions; clustered vectors with the
spectrum of sentence embeddings; best of five, process CPU time). Only their ratios matter.
Measured and, in brackets, predicted microseconds per search:

    vectors   eligible    k    scan           graph
    1,000     all        10    20 (22)        70 (81)
    10,000    all        10    105 (120)      147 (137)
    10,000    a tenth    10    28 (34)        194 (258)
    100,000   all        10    1059 (1094)    264 (256)
    100,000   all       100    1302 (1126)    528 (497)
    100,000   a tenth    10    272 (240)      459 (497)
"""

from __future__ import annotations

import math

EF_SEARCH = 100  # candidates that a graph search keeps at least
OVER_FETCH = 2.0  # nodes asked for per row wanted: recall@100 of 100,000 is 0.989, with 1.3 it is 0.969

CALL = 8_000.0  # arguments checked, arrays made
SKIPPED_ROW = 0.15  # eight flags are looked at together
ROW = 3.0
COMPONENT = 0.02  # of one row's codes
GAPS = 2.0  # rows picked here and there cost this much more than rows in a line: nothing is fetched ahead
WANTED = 350.0  # per row of the result: bounds kept, vectors scored, hits sorted
HOP = 0.125  # per component of a candidate that the graph keeps, times the cube root of its size
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
    hop = dimension * HOP * math.pow(nodes, 1 / 3)
    found = fetch * (hop + WANTED / OVER_FETCH)
    return 2 * CALL + found + newer * (ROW + dimension * COMPONENT)
