"""How long do the 100 nearest vectors take, next to numpy and hnswlib, at each eligible share?"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.speed.common import DEPTH, SEED, SHARES, SIZES
from pi_rank.ranking.graphs.graph import Graph
from pi_rank.ranking.graphs.hnsw import links_of
from pi_rank.ranking.semantic import VectorIndex
from tests.reference.vectors import search, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    Flags = np.ndarray[Any, np.dtype[np.uint8]]
    Search = Callable[[Any], Any]

DIMENSION = 384
QUERIES = 20
REFERENCE_ROWS = 200
# The engine's own (pi_rank/ranking/graphs/hnsw.py).
M, EF_CONSTRUCTION, EF_SEARCH = 16, 200, 100


@cache
def vectors(size: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Unit vectors with a spectrum like that of sentence embeddings, and QUERIES more at the end."""
    return unit_vectors(SEED, size + QUERIES, DIMENSION)


@cache
def eligible(size: int, share: float) -> Flags:
    """uint8[size], 1 for this share of the rows."""
    return (np.random.default_rng(SEED).random(size) < share).astype(np.uint8)


@cache
def _index(size: int) -> VectorIndex:
    return VectorIndex.build(vectors(size)[:size], np.arange(size, dtype=np.int32))


def pi_rank(size: int, share: float) -> Search:
    """The exact scan: int8 codes, rescored in full."""
    index, flags, ties = _index(size), eligible(size, share), np.arange(size, dtype=np.int32)
    return lambda query: index.search(query, DEPTH, eligible=flags, tie_rank=ties)


def numpy(size: int, share: float) -> Search:
    """One matrix product over the rows, those that are eligible gathered first where not all are."""
    matrix, flags = vectors(size)[:size], eligible(size, share)

    def nearest(query: Any) -> Any:
        rows = np.flatnonzero(flags)
        scores = (matrix if len(rows) == size else matrix[rows]) @ query
        best = np.argpartition(-scores, min(DEPTH, len(rows)) - 1)[:DEPTH]
        return rows[best[np.argsort(-scores[best])]]

    return nearest


@cache
def _graph(size: int) -> Any:
    import hnswlib

    graph = hnswlib.Index(space="ip", dim=DIMENSION)
    graph.init_index(max_elements=size, M=M, ef_construction=EF_CONSTRUCTION, random_seed=1)
    graph.add_items(vectors(size)[:size])
    graph.set_ef(EF_SEARCH)
    graph.set_num_threads(1)
    return graph


def hnswlib(size: int) -> Search:
    """The graph, approximate, over all rows. Its filter callback runs Python per node: no rival here."""
    graph = _graph(size)
    return lambda query: graph.knn_query(query, k=DEPTH)[0][0]


def pi_rank_hnsw(size: int) -> Search:
    """The same graph, walked over int8 codes for twice as many, which are rescored."""
    index = _index(size).with_graph(Graph(links_of(_graph(size))))
    ties = np.arange(size, dtype=np.int32)
    return lambda query: index.search(query, DEPTH, tie_rank=ties, strategy="hnsw").rows


def recall(search: Search, size: int) -> float:
    """Recall@100 against the exact scan, over the queries."""
    exact, ties = _index(size), np.arange(size, dtype=np.int32)
    shared = [
        len(np.intersect1d(search(query), exact.search(query, DEPTH, tie_rank=ties).rows))
        for query in vectors(size)[size:]
    ]
    return round(sum(shared) / len(shared) / DEPTH, 4)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", [pi_rank, numpy], ids=lambda library: library.__name__)
def bench_exact(over, library, size, share):
    over(library(size, share), list(vectors(size)[size:]), question="vectors", library=library.__name__)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", [hnswlib, pi_rank_hnsw], ids=lambda library: library.__name__)
def bench_graph(over, library, size):
    search, name = library(size), library.__name__.replace("_hnsw", " hnsw")
    facts = {"question": "vectors", "library": name, "share": 1.0, "recall": recall(search, size)}
    over(search, list(vectors(size)[size:]), **facts)


def bench_reference(over):
    size = SIZES[0]
    rows, ties = range(REFERENCE_ROWS), np.arange(size)
    nodes = np.arange(size)
    over(
        lambda query: search(vectors(size), nodes, query, DEPTH, ties, rows=rows),
        list(vectors(size)[size : size + 2]),
        question="vectors",
        library="reference",
        size=size,
        share=1.0,
        note=f"over {REFERENCE_ROWS} rows",
    )
