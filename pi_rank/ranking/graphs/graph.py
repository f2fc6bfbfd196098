"""An HNSW graph as arrays of links, and its search. It never changes, and threads may share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pi_rank._core.graph import LinkGraph
from pi_rank._core.vectors import VectorTable
from pi_rank.ranking.graphs.node_rows import NodeRows

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]
Scores = npt.NDArray[np.float64]


class Links(NamedTuple):
    """Who is linked to whom. Rows of neighbours are filled up with -1; M is the width on the upper levels.

    `ground`: int32[count, 2 M], on level 0. `upper`: int32[rows, M], on the levels above; a node's rows stand
    together, from level 1 on. `upper_begin`: int32[count], the first of a node's rows in `upper`, -1 where it
    is on level 0 only. `top`: int32[2], the node that a search begins at and its level.
    """

    ground: Ints
    upper: Ints
    upper_begin: Ints
    top: Ints


class Graph:
    """A graph over the first `count` vectors of a table."""

    __slots__ = ("_core", "links")

    def __init__(self, links: Links) -> None:
        """
        :raises ValueError: arrays of other shapes, or a link to a node that does not exist.
        """
        self.links = links
        self._core = LinkGraph(*links)

    @property
    def count(self) -> int:
        """How many vectors, from the first on, the graph knows."""
        return len(self.links.ground)

    @property
    def m(self) -> int:
        """Links of a node on the upper levels, at most."""
        return int(self.links.upper.shape[1])

    def nearest(self, table: VectorTable, query: Floats, n: int) -> Ints:
        """About the n nodes nearest to `query`, nearest first by their int8 codes: int32[at most n].

        The walk keeps n candidates, HNSW's ef_search: the more, the better the first of them. Fewer than n
        are found where no path leads to the others.

        :param table: whose first `count` vectors are the graph's.
        :param query: float32[d] of any length.
        :raises VectorError: a query of another dtype or dimension, or that is not finite; a table that has
            fewer vectors; a negative n.
        """
        return self._core.nearest(table, query, n)

    def search(
        self,
        table: VectorTable,
        queries: Floats,
        k: int,
        fetched: Sequence[int],
        node_rows: NodeRows,
        tie_rank: Ints,
        eligible: Sequence[Flags | None],
    ) -> list[tuple[Ints, Scores]]:
        """For each query the k best rows, (int32 rows, float64 cosines), best first; without the GIL.

        They are the best, by exact cosine, of the rows of about the `fetched` nearest nodes and of the nodes
        that the graph does not know.

        :param table: whose first `count` vectors are the graph's.
        :param queries: float32[q, d] of unit length.
        :param fetched: for each query how many nodes the walk keeps.
        :param node_rows: the rows of the table's nodes.
        :param tie_rank: int32[n_rows]; equal cosines are ordered by it, ascending.
        :param eligible: for each query uint8[n_rows], not 0 where a row may be returned, or None for all.
        :raises VectorError: as `nearest`; arrays of other types, or that are not the table's.
        """
        return self._core.search(
            table, queries, k, list(fetched), node_rows.first, node_rows.rows, tie_rank, list(eligible)
        )
