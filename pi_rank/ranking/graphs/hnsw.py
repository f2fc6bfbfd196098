"""Building an HNSW graph: hnswlib links the vectors, and the links are taken from it.

hnswlib 0.8 fails in ways that no caller can see: searches raise and leak where they find too few, files are
written and read without a check, inserting disturbs who searches. So it gets checked vectors, is used by one
thread for one build, and is never searched, saved or loaded: what it has linked becomes a `Graph`.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pi_rank.errors import VectorError
from pi_rank.ranking.graphs.graph import Floats, Graph, Ints, Links
from pi_rank.ranking.semantic import VectorIndex

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

    def init_index(self, max_elements: int, M: int, ef_construction: int, random_seed: int) -> None: ...
    def add_items(self, data: Floats, ids: npt.NDArray[np.int64], num_threads: int) -> None: ...
    def __getstate__(self) -> tuple[dict[str, Any]]: ...


class BuildReport(NamedTuple):
    """How a build ended: a graph, or None with the recall that fell short or `cancelled`."""

    graph: Graph | None
    recall: float
    cancelled: bool


def can_build() -> bool:
    """Whether hnswlib is installed: it comes with the extra `hnsw`, where a C++ compiler is at hand."""
    return find_spec("hnswlib") is not None


def build_graph(
    index: VectorIndex, *, cancel: threading.Event | None = None, threads: int = 1
) -> BuildReport:
    """A graph over all vectors of `index`, kept only if it finds what an exact scan finds.

    Vectors are inserted in order and from a fixed seed: on one thread, the same vectors give the same graph.

    :param cancel: set from another thread, it ends the build within one chunk of vectors.
    :raises ImportError: hnswlib is not installed, or cannot be loaded.
    """
    cancel = cancel or threading.Event()
    best = 0.0
    for m in M_STEPS if index.count else ():
        filled = _filled(index, m, cancel, threads)
        if filled is None:
            return BuildReport(None, best, cancelled=True)
        graph = Graph(links_of(filled))
        recall = measure_recall(graph, index)
        if recall >= RECALL_FLOOR:
            return BuildReport(graph, recall, cancelled=False)
        best = max(best, recall)
    return BuildReport(None, best, cancelled=False)


def _filled(source: VectorIndex, m: int, cancel: threading.Event, threads: int) -> HnswlibIndex | None:
    """An hnswlib index of all vectors of `source`, or None when cancelled."""
    import hnswlib  # on first use: nobody else needs it

    made: HnswlibIndex = hnswlib.Index(space=SPACE, dim=source.dimension)
    made.init_index(max_elements=source.count, M=m, ef_construction=EF_CONSTRUCTION, random_seed=SEED)
    for begin in range(0, source.count, CHUNK):
        if cancel.is_set():
            return None
        end = min(begin + CHUNK, source.count)
        made.add_items(source.vectors(begin, end), np.arange(begin, end), num_threads=threads)
    return made


def links_of(index: HnswlibIndex) -> Links:
    """What hnswlib has linked, by the labels of the vectors: their numbers in the order of insertion.

    Read from what it gives to be pickled. Its own numbers are others where several threads have inserted.

    :raises VectorError: the state is laid out in another way than that of hnswlib 0.8.
    """
    (state,) = index.__getstate__()
    try:
        count, m = state["cur_element_count"], state["M"]
        label_of = np.empty(count, np.int32)
        label_of[state["label_lookup_internal"].astype(np.int64)] = state["label_lookup_external"]
        begin, size = state["offset_level0"], state["size_data_per_element"]
        elements = state["data_level0"].view(np.uint8)[: count * size].reshape(count, size)
        ground = _neighbours(elements[:, begin : begin + 4 * (2 * m + 1)], label_of)
        rows = state["link_lists"].view(np.uint8).reshape(-1, state["size_links_per_element"])
        levels = state["element_levels"][:count]
        top = np.array([label_of[state["enterpoint_node"]], state["max_level"]], np.int32)
        upper = _neighbours(rows[:, : 4 * (m + 1)], label_of)
    except (KeyError, ValueError, IndexError) as error:
        raise VectorError(f"this version of hnswlib keeps its links in another way: {error}") from error
    upper_begin = np.where(levels > 0, np.cumsum(levels) - levels, -1).astype(np.int32)
    order = np.argsort(label_of)
    return Links(ground[order], upper, upper_begin[order], top)


def _neighbours(lists: npt.NDArray[np.uint8], label_of: Ints) -> Ints:
    """Link lists as labels, -1 behind the last; a list is its length in the first 16 bits, and numbers."""
    words = np.ascontiguousarray(lists).view(np.uint32)
    lengths = words[:, :1] & 0xFFFF
    known = np.arange(words.shape[1] - 1) < lengths
    return np.where(known, label_of[np.where(known, words[:, 1:], 0)], -1).astype(np.int32)


def measure_recall(graph: Graph, index: VectorIndex) -> float:
    """Mean recall@10 against the exact scan, over vectors of the index and midpoints of two of them.

    The first find nodes that no path leads to; the second lie off the data, as questions do.
    """
    every = np.arange(graph.count, dtype=np.int32)
    exact = index.with_graph(None).updated(np.empty((0, index.dimension), np.float32), every)
    linked = exact.with_graph(graph)
    k = min(PROBE_K, graph.count)
    shared = [
        len(
            np.intersect1d(
                linked.search(probe, k, tie_rank=every, strategy="hnsw").rows,
                exact.search(probe, k, tie_rank=every, strategy="exact").rows,
            )
        )
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
