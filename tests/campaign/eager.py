"""Lets a small memory have the files that only a large one pays for, for as long as it is wanted."""

from __future__ import annotations

from contextlib import contextmanager

from pi_rank.ranking.semantic import VectorIndex
from pi_rank.snapshot import saved


@contextmanager
def eager():
    """Meanwhile every memory has a snapshot's file and a graph."""
    before = saved.MIN_ROWS, saved.MAX_LAG, VectorIndex.wants_graph
    saved.MIN_ROWS, saved.MAX_LAG = 0, 0.05
    VectorIndex.wants_graph = property(_wants_graph)
    try:
        yield
    finally:
        saved.MIN_ROWS, saved.MAX_LAG, VectorIndex.wants_graph = before


def _wants_graph(index):
    return index.graph is None or index.graph.count * 1.05 < index.count
