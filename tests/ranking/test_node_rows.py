"""Rows of nodes against a loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.ranking.node_rows import NodeRows


@given(st.integers(0, 12), st.data())
def test_rows_of_nodes_and_of_later_nodes(count, data):
    row_node = data.draw(st.lists(st.integers(-1, count - 1), max_size=30))
    nodes = data.draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    rows = NodeRows(np.array(row_node, np.int32), count)
    assert rows.of(np.array(nodes, np.int32)).tolist() == [
        row for node in nodes for row, own in enumerate(row_node) if own == node
    ]
    assert len(rows) == sum(own >= 0 for own in row_node)
    for node in range(count + 1):
        assert sorted(rows.since(node).tolist()) == [row for row, own in enumerate(row_node) if own >= node]
