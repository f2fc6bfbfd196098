"""The vector index of a snapshot: exact scan or HNSW behind one interface, the cheaper chosen per search."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pi_rank._core.vectors import VectorTable, checked_array
from pi_rank.errors import VectorError
from pi_rank.ranking.graphs.graph import Flags, Floats, Graph, Ints
from pi_rank.ranking.graphs.node_rows import NodeRows
from pi_rank.ranking.vector_cost import EF_SEARCH, exact_cost, fetch_size, graph_cost

Strategy = Literal["auto", "exact", "hnsw"]

BATCH_TILE = 32  # queries per pass over the vectors: more share a pass, but their candidates leave the cache

MOST_FETCHED = 0.25  # of its nodes, that a graph is asked for: past it, what it cannot reach may be missed
TYPICAL_K = 10  # of a search that a graph is built for


class VectorHits(NamedTuple):
    """Rows best first, their cosines, and the strategy that found them: `exact` or `hnsw`."""

    rows: Ints
    scores: npt.NDArray[np.float64]
    strategy: Literal["exact", "hnsw"]


class VectorIndex:
    """Unit vectors of one embedding model and the rows that have them. Immutable, to be shared by threads.

    Scores are float64 inner products summed in a fixed order, from both strategies, so that one query gives
    one order on every machine; equal scores are ordered by `tie_rank`.
    """

    __slots__ = ("_rows", "graph", "table")

    def __init__(self, table: VectorTable, graph: Graph | None = None) -> None:
        self.table = table
        self.graph = graph
        if graph is not None:
            self._rows = NodeRows(table.row_node, table.count)

    @classmethod
    def build(cls, vectors: Floats, row_node: Ints) -> VectorIndex:
        """An index of `vectors` for the rows of a snapshot.

        :param vectors: float32[m, d] of unit length; copied.
        :param row_node: int32[n_rows], the vector of each row, -1 for none. Rows may share a vector.
        :raises VectorError: wrong dtype or shape, a value that is not finite, a length that is not 1, or a
            row whose vector does not exist.
        """
        return cls(VectorTable.build(vectors, row_node))

    def updated(self, new_vectors: Floats, row_node: Ints) -> VectorIndex:
        """This index with `new_vectors` (float32[m, d], possibly none) behind its own and other rows.

        The old vectors are shared, not copied, and readers of this index see no change. A graph is kept:
        vectors that it does not know are scanned exactly.

        :raises VectorError: as `build`, or vectors of another dimension.
        """
        return VectorIndex(self.table.updated(new_vectors, row_node), self.graph)

    def with_graph(self, graph: Graph | None) -> VectorIndex:
        """This index with `graph` over its first vectors, or without one.

        :param graph: of these vectors; nobody can tell by the graph.
        :raises VectorError: the graph knows more vectors than there are.
        """
        if graph is not None and graph.count > self.count:
            raise VectorError(
                f"the graph holds {graph.count} vectors, the index {self.count}: build the graph again"
            )
        return VectorIndex(self.table, graph)

    @property
    def count(self) -> int:
        """Number of vectors."""
        return self.table.count

    @property
    def dimension(self) -> int:
        """Number of components of each vector."""
        return self.table.dimension

    @property
    def wants_graph(self) -> bool:
        """Whether a new graph of all vectors would at least halve the cost of an unfiltered search."""
        rows = len(self.row_node)
        fresh = graph_cost(EF_SEARCH, self.count, 0, self.dimension)
        now = exact_cost(rows, rows, self.dimension, TYPICAL_K)
        if self.graph is not None:
            newer = self.count - self.graph.count
            now = min(now, graph_cost(EF_SEARCH, self.graph.count, newer, self.dimension))
        return fresh * 2 < now

    @property
    def row_node(self) -> Ints:
        """The vector of each row, int32[n_rows], -1 for none; read-only."""
        return self.table.row_node

    @property
    def nbytes(self) -> int:
        """Bytes held for vectors and codes, without the graph."""
        return self.table.nbytes

    def vectors(self, begin: int, end: int) -> Floats:
        """A copy of the vectors [begin, end), float32[end - begin, d]."""
        return self.table.vectors(begin, end)

    def search(
        self,
        query: Floats,
        k: int,
        *,
        tie_rank: Ints,
        eligible: Flags | None = None,
        strategy: Strategy = "auto",
    ) -> VectorHits:
        """The k rows nearest to `query` by cosine, best first; fewer where fewer are eligible.

        :param query: float32[d] of unit length.
        :param k: how many rows; 0 and more than there are rows are allowed.
        :param tie_rank: int32[n_rows]; equal scores come in ascending order of it.
        :param eligible: uint8[n_rows], 0 for rows that must not be found; None for all rows.
        :param strategy: `exact` and `hnsw` ask for one; `auto` takes the cheaper. `hnsw` gives way to `exact`
            where the graph would have to give most of its nodes, or gives fewer than k eligible rows.
        :raises VectorError: a bad array, a negative k, or `hnsw` without a graph.
        """
        share = self._graph_share(k, eligible, strategy, queries=1)
        if share:
            queries = checked_array(query, "query", np.float32, 1)[np.newaxis]
            if hits := self._search_graph(queries, k, tie_rank, [eligible], [share], [0]):
                return hits[0]
        return VectorHits(*self.table.search(query, k, tie_rank=tie_rank, eligible=eligible), "exact")

    def products(self, query: Floats, rows: Ints) -> npt.NDArray[np.float64]:
        """Inner products of `query` (float32[d], of any length) with the vectors of `rows`: float64[m].

        Those of a unit vector are the cosines that `search` gives, to the last bit. NaN: a row has no vector.

        :raises VectorError: wrong dtype, shape or dimension, or a row that is not there.
        """
        return self.table.products(query, rows)

    def search_batch(
        self,
        queries: Floats,
        k: int,
        *,
        tie_rank: Ints,
        eligible: Flags | Sequence[Flags] | None = None,
        strategy: Strategy = "auto",
        threads: int = 1,
    ) -> list[VectorHits]:
        """`search` for each of `queries`, in their order, without the GIL on `threads` threads.

        :param queries: float32[q, d] of unit length.
        :param eligible: one uint8[n_rows] for all queries, or one for each (a sequence, or uint8[q, n_rows]).
        :raises VectorError: as `search`; or the numbers of queries and of eligibility arrays differ.
        """
        flags = _per_query(eligible, len(queries))
        size = min(BATCH_TILE, max(1, -(-len(queries) // max(1, threads))))
        tiles = [slice(at, at + size) for at in range(0, len(queries), size)]

        def run(tile: slice) -> list[VectorHits]:
            return self._search_tile(queries[tile], k, tie_rank, flags[tile], strategy)

        if threads <= 1 or len(tiles) <= 1:
            found = [run(tile) for tile in tiles]
        else:
            with ThreadPoolExecutor(threads, "pi-rank-vectors") as pool:
                found = list(pool.map(run, tiles))
        return [hits for part in found for hits in part]

    def _search_tile(
        self, queries: Floats, k: int, tie_rank: Ints, flags: Sequence[Flags | None], strategy: Strategy
    ) -> list[VectorHits]:
        """The graph is searched for the queries that it is cheaper for; the rest is scanned together."""
        shares = [self._graph_share(k, own, strategy, queries=len(flags)) for own in flags]
        asked = [at for at, share in enumerate(shares) if share]
        hits = self._search_graph(queries, k, tie_rank, flags, shares, asked) if asked else {}
        left = [at for at in range(len(flags)) if at not in hits]
        if left:
            rest = self.table.search_many(
                queries[left], k, tie_rank=tie_rank, eligible=[flags[at] for at in left]
            )
            hits.update({at: VectorHits(*each, "exact") for at, each in zip(left, rest, strict=True)})
        return [hits[at] for at in range(len(flags))]

    def _graph_share(self, k: int, eligible: Flags | None, strategy: Strategy, queries: int) -> float:
        """The eligible share of the rows if the graph should be searched, else 0."""
        if strategy not in ("auto", "exact", "hnsw"):
            raise VectorError(f"unknown strategy {strategy!r}: use auto, exact or hnsw")
        if strategy == "hnsw" and self.graph is None:
            raise VectorError("no graph is attached to the index: build one, or use strategy auto or exact")
        if strategy == "exact" or self.graph is None or k <= 0 or len(self._rows) == 0:
            return 0.0
        able = len(self._rows) if eligible is None else int(np.count_nonzero(eligible))
        share = min(1.0, able / len(self._rows))
        if share == 0.0 or fetch_size(k, share) > self.graph.count * MOST_FETCHED:
            return 0.0
        newer = self._rows.count_since(self.graph.count)
        graph = graph_cost(fetch_size(k, share), self.graph.count, newer, self.dimension)
        exact = exact_cost(len(self.row_node), able, self.dimension, k, queries)
        return share if strategy == "hnsw" or graph < exact else 0.0

    def _search_graph(
        self,
        queries: Floats,
        k: int,
        tie_rank: Ints,
        flags: Sequence[Flags | None],
        shares: Sequence[float],
        asked: Sequence[int],
    ) -> dict[int, VectorHits]:
        """The best rows of nodes that the graph finds or does not know, by query; none of too few."""
        assert self.graph is not None
        found = self.graph.search(
            self.table,
            queries[asked],
            k,
            [fetch_size(k, shares[at]) for at in asked],
            self._rows,
            tie_rank,
            [flags[at] for at in asked],
        )
        return {
            at: VectorHits(*each, "hnsw") for at, each in zip(asked, found, strict=True) if len(each[0]) == k
        }


def _per_query(eligible: Flags | Sequence[Flags] | None, n: int) -> Sequence[Flags | None]:
    if eligible is None or (isinstance(eligible, np.ndarray) and eligible.ndim == 1):
        return [eligible] * n
    if len(eligible) != n:
        raise VectorError(f"{len(eligible)} eligibility arrays for {n} queries")
    return list(eligible)
