"""From vectors ("nodes") back to the rows that have them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]


class NodeRows:
    """Rows in order of their node, so that the rows of one node, or of all later nodes, lie side by side."""

    __slots__ = ("_first", "_rows")

    def __init__(self, row_node: Ints, count: int) -> None:
        """:param row_node: int32[n_rows], each between -1 (no node) and `count` - 1."""
        self._rows: Ints = np.argsort(row_node, kind="stable").astype(np.int32)
        self._first = np.cumsum(np.bincount(row_node + 1, minlength=count + 1), dtype=np.int64)

    def __len__(self) -> int:
        """Number of rows that have a node."""
        return len(self._rows) - int(self._first[0])

    def of(self, nodes: Ints) -> Ints:
        """All rows of `nodes`, in their order."""
        first = self._first[nodes]
        counts = self._first[nodes + 1] - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows: Ints = self._rows[np.repeat(first, counts) + within]
        return rows

    def since(self, node: int) -> Ints:
        """All rows of nodes from `node` on."""
        return self._rows[self._first[node] :]
