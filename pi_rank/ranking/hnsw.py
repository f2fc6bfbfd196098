"""hnswlib behind guards: a finished, read-only graph over the first vectors of an index.

hnswlib 0.8 fails in ways that no caller can see (wrong results after a bad insert, errors while another
thread writes, leaks when it finds too few). So a graph here takes checked vectors only, is built aside, never
changes once it can be searched, and is never asked for more than it holds.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pi_rank.errors import VectorError
from pi_rank.ranking.semantic import Floats, Ints, VectorIndex
from pi_rank.ranking.vector_cost import EF_SEARCH

SPACE = (
    "ip"  # inner product of vectors that are unit length already; hnswlib's cosine would copy and normalise
)
M_STEPS = (16, 32, 48)  # links per node; the next is tried where the recall of the one before falls short
EF_CONSTRUCTION = 200
RECALL_FLOOR = 0.95  # of the true ten nearest, on average over the probes
SEED = 100
CHUNK = 128  # vectors per insertion call: the longest wait of a cancellation, some 50 ms at 100,000 vectors
PROBES = 64
PROBE_K = 10


class HnswlibIndex(Protocol):
    """The part of `hnswlib.Index`, which comes without types, that is used here."""

    dim: int
    M: int

    def init_index(self, max_elements: int, M: int, ef_construction: int, random_seed: int) -> None: ...
    def add_items(self, data: Floats, ids: npt.NDArray[np.int64], num_threads: int) -> None: ...
    def knn_query(
        self, data: Floats, k: int, num_threads: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float32]]: ...
    def get_items(self, ids: list[int]) -> Floats: ...
    def get_current_count(self) -> int: ...
    def index_file_size(self) -> int: ...
    def save_index(self, path_to_index: str) -> None: ...
    def load_index(self, path_to_index: str) -> None: ...
    def set_ef(self, ef: int) -> None: ...
    def set_num_threads(self, num_threads: int) -> None: ...


def empty_index(dimension: int) -> HnswlibIndex:
    """A new hnswlib index. hnswlib is imported here, on first use: an exact scan does not need it."""
    import hnswlib

    made: HnswlibIndex = hnswlib.Index(space=SPACE, dim=dimension)
    return made


class Graph:
    """A finished HNSW graph. Safe to search from many threads, because nothing writes to it any more."""

    __slots__ = ("_findable", "_index", "count", "dimension", "m")

    def __init__(self, index: HnswlibIndex) -> None:
        # Neither is part of a saved index: after loading, hnswlib is back at ef 10 and all threads.
        index.set_ef(EF_SEARCH)
        index.set_num_threads(1)
        self._index = index
        self.count: int = index.get_current_count()
        self.dimension: int = index.dim
        self.m: int = index.M
        self._findable = self.count

    def nearest(self, query: Floats, n: int) -> Ints:
        """About the n nodes nearest to `query` (float32[d]), nearest first; none where n cannot be found.

        :raises VectorError: a query of another dimension or with a value that is not finite.
        """
        if query.shape != (self.dimension,) or not np.isfinite(query).all():
            raise VectorError(f"query must be {self.dimension} finite numbers (its shape is {query.shape})")
        if not 0 < n <= self._findable:
            return np.empty(0, dtype=np.int32)
        try:
            # ef is not set per search, which would be a race: hnswlib takes the larger of ef and n.
            labels, _ = self._index.knn_query(query, k=n, num_threads=1)
        except RuntimeError as error:
            if "contiguous 2D array" not in str(error):
                raise
            self._findable = n - 1  # each such failure leaks hnswlib's buffers: never ask for as many again
            return np.empty(0, dtype=np.int32)
        nodes: Ints = labels[0].astype(np.int32)
        return nodes

    def vector(self, node: int) -> Floats:
        """The vector that the graph holds for `node`, float32[d]."""
        return np.asarray(self._index.get_items([node])[0], dtype=np.float32)

    def save_payload(self, path: str) -> int:
        """Lets hnswlib, which reports no failure, write to `path`; how many bytes it should have written."""
        self._index.save_index(path)
        return int(self._index.index_file_size())


class BuildReport(NamedTuple):
    """How a build ended: a graph, or None with the recall that fell short or `cancelled`."""

    graph: Graph | None
    recall: float
    cancelled: bool


def build_graph(
    index: VectorIndex, *, cancel: threading.Event | None = None, threads: int = 1
) -> BuildReport:
    """A graph over all vectors of `index`, kept only if it finds what an exact scan finds.

    Vectors are inserted in order and from a fixed seed: on one thread, the same vectors give the same graph.

    :param cancel: set from another thread, it ends the build within one chunk of vectors.
    """
    cancel = cancel or threading.Event()
    best = 0.0
    for m in M_STEPS if index.count else ():
        filled = _filled(index, m, cancel, threads)
        if filled is None:
            return BuildReport(None, best, cancelled=True)
        graph = Graph(filled)
        recall = measure_recall(graph, index)
        if recall >= RECALL_FLOOR:
            return BuildReport(graph, recall, cancelled=False)
        best = max(best, recall)
    return BuildReport(None, best, cancelled=False)


def _filled(source: VectorIndex, m: int, cancel: threading.Event, threads: int) -> HnswlibIndex | None:
    """An hnswlib index of all vectors of `source`, or None when cancelled."""
    made = empty_index(source.dimension)
    made.init_index(max_elements=source.count, M=m, ef_construction=EF_CONSTRUCTION, random_seed=SEED)
    for begin in range(0, source.count, CHUNK):
        if cancel.is_set():
            return None
        end = min(begin + CHUNK, source.count)
        made.add_items(source.vectors(begin, end), np.arange(begin, end), num_threads=threads)
    return made


def measure_recall(graph: Graph, index: VectorIndex) -> float:
    """Mean recall@10 against the exact scan, over vectors of the index and midpoints of two of them.

    The first find nodes that no path leads to; the second lie off the data, as questions do.
    """
    every = np.arange(graph.count, dtype=np.int32)
    nodes = index.with_graph(None).updated(np.empty((0, index.dimension), np.float32), every)
    k = min(PROBE_K, graph.count)
    shared = [
        len(np.intersect1d(graph.nearest(probe, k), nodes.search(probe, k, tie_rank=every).rows))
        for probe in _probes(index, graph.count)
    ]
    return float(np.mean(shared)) / k


def _probes(index: VectorIndex, count: int) -> Floats:
    at = np.unique(np.linspace(0, count - 1, PROBES).astype(int))
    own = np.concatenate([index.vectors(int(i), int(i) + 1) for i in at])
    middle = own + np.roll(own, 1, axis=0)
    length = np.linalg.norm(middle, axis=1, keepdims=True)
    apart = length[:, 0] > 1e-3  # opposite vectors have no midpoint
    return np.concatenate([own, middle[apart] / length[apart]]).astype(np.float32)
