"""Rows of nodes against a loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.ranking.graphs.node_rows import NodeRows


@given(st.integers(0, 12), st.data())
def test_rows_of_nodes_and_of_later_nodes(count, data):
    row_node = data.draw(st.lists(st.integers(-1, count - 1), max_size=30))
    rows = NodeRows(np.array(row_node, np.int32), count)
    for node in range(count):
        own = rows.rows[rows.first[node] : rows.first[node + 1]]
        assert own.tolist() == [row for row, found in enumerate(row_node) if found == node]
    for node in range(count + 1):
        assert rows.count_since(node) == sum(own >= node for own in row_node)
    assert len(rows) == sum(own >= 0 for own in row_node)
    assert (rows.first.dtype, rows.rows.dtype) == (np.int64, np.int32)
