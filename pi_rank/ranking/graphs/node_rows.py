"""From vectors ("nodes") back to the rows that have them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]


class NodeRows:
    """Rows in order of their node, so that the rows of one node, or of all later nodes, lie side by side.

    Those of `node` are `rows[first[node]:first[node + 1]]`; rows without a node come first. `first`:
    int64[nodes + 1], `rows`: int32[n_rows].
    """

    __slots__ = ("first", "rows")

    def __init__(self, row_node: Ints, count: int) -> None:
        """:param row_node: int32[n_rows], each between -1 (no node) and `count` - 1."""
        self.rows: Ints = np.argsort(row_node, kind="stable").astype(np.int32)
        self.first = np.cumsum(np.bincount(row_node + 1, minlength=count + 1), dtype=np.int64)

    def __len__(self) -> int:
        """Number of rows that have a node."""
        return self.count_since(0)

    def count_since(self, node: int) -> int:
        """Number of rows of nodes from `node` on."""
        return len(self.rows) - int(self.first[node])
