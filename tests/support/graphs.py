"""Graphs for tests. Only hnswlib builds them, and it may be missing: then what needs one is skipped."""

from __future__ import annotations

import pytest

from pi_rank.ranking.graphs.hnsw import build_graph, can_build

NO_HNSWLIB = "hnswlib is not installed"
needs_hnswlib = pytest.mark.skipif(not can_build(), reason=NO_HNSWLIB)


def graph_of(index):
    """A graph over the vectors of `index`, or None where hnswlib loses some of them."""
    if not can_build():
        pytest.skip(NO_HNSWLIB)
    return build_graph(index).graph
