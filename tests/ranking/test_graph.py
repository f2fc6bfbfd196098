"""The walk through a graph against its definition, and what links and queries it refuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.errors import VectorError
from pi_rank.ranking.graphs.graph import Graph, Links
from pi_rank.ranking.graphs.node_rows import NodeRows
from pi_rank.ranking.semantic import VectorIndex
from tests.reference import graph as reference
from tests.reference.vectors import search as exact_search
from tests.reference.vectors import unit_vectors
from tests.support.graphs import graph_of

N, D = 1500, 24
VECTORS = unit_vectors(21, N, D)


def index_of(vectors):
    return VectorIndex.build(vectors, np.arange(len(vectors), dtype=np.int32))


@pytest.fixture(scope="module")
def index():
    return index_of(VECTORS)


@pytest.fixture(scope="module")
def graph(index):
    return graph_of(index)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 120), scale=st.sampled_from([1.0, 1e-3, 40.0]))
def test_the_walk_is_the_reference(index, graph, seed, n, scale):
    query = unit_vectors(seed, 1, D)[0] * np.float32(scale)
    expected = reference.nearest(graph.links, VECTORS, query, n) if n else []
    assert graph.nearest(index.table, query, n).tolist() == expected


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), n=st.integers(1, 70))
def test_small_graphs_with_equal_vectors_are_the_reference_too(seed, count, n):
    vectors = unit_vectors(seed, count, 40, distinct=max(1, count // 3))
    index = index_of(vectors)
    graph = graph_of(index) or pytest.skip("hnswlib loses some of so many equal vectors")
    query = unit_vectors(seed + 1, 1, 40)[0]
    assert graph.nearest(index.table, query, n).tolist() == reference.nearest(graph.links, vectors, query, n)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(0, 12),
    fetched=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    newer=st.integers(0, 5),
)
def test_a_search_scores_the_rows_of_the_nodes_walked_to_and_of_newer_ones(seed, k, fetched, newer):
    random = np.random.default_rng(seed)
    vectors = unit_vectors(seed, 40 + newer, 8)
    links = graph_of(index_of(vectors[:40])).links
    row_node = random.integers(-1, 40 + newer, 70).astype(np.int32)  # some nodes have several rows, some none
    table = VectorIndex.build(vectors, row_node).table
    queries, ties = unit_vectors(seed + 1, len(fetched), 8), random.permutation(70).astype(np.int32)
    eligible = [None, *((random.random(70) < 0.7).astype(np.uint8) for _ in fetched)][: len(fetched)]
    found = Graph(links).search(table, queries, k, fetched, NodeRows(row_node, 40 + newer), ties, eligible)
    for query, n, flags, (rows, scores) in zip(queries, fetched, eligible, found, strict=True):
        nodes = {*(reference.nearest(links, vectors[:40], query, n) if n else []), *range(40, 40 + newer)}
        candidates = [row for row in range(70) if row_node[row] in nodes]
        expected = exact_search(vectors, row_node, query, k, ties, flags, candidates)
        assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": -1}, "k >= 0"),
        ({"fetched": [5, 5]}, "as many sizes"),
        ({"eligible": []}, "as many sizes"),
        ({"queries": VECTORS[0]}, "2 dimension"),
        ({"queries": VECTORS[:1, :-1].copy()}, "dimension 23, the index 24"),
        ({"queries": VECTORS[:1] * 2}, "length 2, not 1"),
        ({"tie_rank": np.zeros(3, np.int32)}, "tie_rank has 3 entries"),
        ({"eligible": [np.ones(3, np.uint8)]}, "eligible has 3 entries"),
        ({"node_rows": NodeRows(np.zeros(3, np.int32), N)}, "rows of the nodes"),
        ({"node_rows": NodeRows(np.zeros(N, np.int32), 1)}, "rows of the nodes"),
    ],
)
def test_searches_with_arrays_of_another_table_are_refused(index, graph, changes, message):
    given = {
        "queries": VECTORS[:1],
        "k": 3,
        "fetched": [5],
        "node_rows": NodeRows(index.row_node, N),
        "tie_rank": np.arange(N, dtype=np.int32),
        "eligible": [None],
    }
    assert len(graph.search(index.table, **given)[0][0]) == 3
    with pytest.raises(VectorError, match=message):
        graph.search(index.table, **given | changes)


def test_a_table_that_has_grown_is_searched_for_the_nodes_of_the_graph(index, graph):
    grown = index.updated(unit_vectors(22, 70, D), np.arange(N + 70, dtype=np.int32))
    assert grown.table.count == N + 70
    found = graph.nearest(grown.table, VECTORS[3], 40)
    assert found.tolist() == graph.nearest(index.table, VECTORS[3], 40).tolist()


def test_many_threads_search_one_graph_alike(index, graph):
    other = graph_of(index_of(VECTORS[:300]))
    expected = [graph.nearest(index.table, vector, 10).tolist() for vector in VECTORS[:100]]
    wrong = []

    def read():
        for vector, nodes in zip(VECTORS[:100], expected, strict=True):
            other.nearest(index.table, vector, 5)  # the same thread's notes of what it has seen serve both
            if graph.nearest(index.table, vector, 10).tolist() != nodes:
                wrong.append(nodes)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_more_searches_than_a_stamp_can_count():
    vectors = unit_vectors(5, 40, 8)
    index = index_of(vectors)
    graph = graph_of(index)
    expected = graph.nearest(index.table, vectors[0], 5).tolist()
    for _ in range(2**16 + 2):
        graph.nearest(index.table, vectors[1], 1)
    assert graph.nearest(index.table, vectors[0], 5).tolist() == expected


@pytest.mark.parametrize(
    ("query", "n", "message"),
    [
        (np.full(D, np.nan, np.float32), 3, "not finite"),
        (np.full(D, np.inf, np.float32), 3, "not finite"),
        (VECTORS[0][:-1].copy(), 3, "dimension 23, the table 24"),
        (VECTORS[0], -1, "must not be negative"),
    ],
)
def test_queries_that_cannot_be_searched_for_are_refused(index, graph, query, n, message):
    with pytest.raises(VectorError, match=message):
        graph.nearest(index.table, query, n)


def test_a_table_of_fewer_vectors_is_refused(graph):
    with pytest.raises(VectorError, match="the table 100 vectors"):
        graph.nearest(index_of(VECTORS[:100]).table, VECTORS[0], 3)


def linked(ground=((1, -1), (0, -1)), upper=((-1,),), upper_begin=(0, -1), top=(0, 1)):
    return Graph(
        Links(
            np.array(ground, np.int32),
            np.array(upper, np.int32).reshape(-1, 1),
            np.array(upper_begin, np.int32),
            np.array(top, np.int32),
        )
    )


def test_sound_links_are_searched():
    table = index_of(unit_vectors(1, 2, 8)).table
    assert sorted(linked().nearest(table, unit_vectors(2, 1, 8)[0], 5).tolist()) == [0, 1]
    assert linked(upper=(), upper_begin=(-1, -1), top=(1, 0)).count == 2
    assert (linked().count, linked().m) == (2, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"ground": ((2, -1), (0, -1))},
        {"ground": ((-2, -1), (0, -1))},
        {"upper": ((1,),)},  # node 1 is on no level above 0
        {"upper_begin": (1, -1)},
        {"upper_begin": (-2, 0)},
        {"upper_begin": (-1, -1)},  # the first row belongs to nobody
        {"top": (1, 1)},
        {"top": (0, 2)},
        {"top": (2, 0)},
        {"top": (0, -1)},
        {"upper": ((0,), (0,)), "upper_begin": (0, 1)},
    ],
)
def test_links_that_lead_nowhere_are_refused(changes):
    if changes.get("upper") == ((0,), (0,)):
        assert linked(**changes).count == 2  # two nodes of level 1
        changes = {**changes, "top": (1, 2)}
    with pytest.raises(ValueError, match="does not exist"):
        linked(**changes)


@pytest.mark.parametrize(
    "changes", [{"ground": ((1,), (0,))}, {"upper_begin": (0,)}, {"top": (0,)}, {"ground": np.empty((0, 2))}]
)
def test_links_of_other_shapes_are_refused(changes):
    with pytest.raises(ValueError, match="other shapes"):
        linked(**changes)
