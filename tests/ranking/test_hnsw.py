"""What hnswlib builds, and the guards around it: each row of its contract that a build must survive."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from pi_rank.errors import VectorError
from pi_rank.ranking.graphs import hnsw
from pi_rank.ranking.graphs.builder import GraphBuilder
from pi_rank.ranking.graphs.file import GraphKey, save_graph
from pi_rank.ranking.graphs.graph import Graph
from pi_rank.ranking.graphs.hnsw import build_graph, measure_recall
from pi_rank.ranking.semantic import VectorIndex
from tests.reference import vectors as reference

hnswlib = pytest.importorskip("hnswlib")

N, D = 1500, 24
VECTORS = reference.unit_vectors(21, N, D)
KEY = GraphKey("m", D, N, "c")


def ranks(n):
    return np.arange(n, dtype=np.int32)


def index_of(vectors):
    return VectorIndex.build(vectors, ranks(len(vectors)))


@pytest.fixture(scope="module")
def graph():
    return build_graph(index_of(VECTORS)).graph


def test_the_same_vectors_give_the_same_graph(graph):
    again = build_graph(index_of(VECTORS)).graph
    for one, other in zip(graph.links, again.links, strict=True):
        np.testing.assert_array_equal(one, other)


def test_links_are_those_that_hnswlib_has_written():
    """Its file is the other place where its links can be seen; there they have its own numbers."""
    made = hnswlib.Index(space="ip", dim=D)
    made.init_index(max_elements=N + 10, M=8, ef_construction=50, random_seed=1)
    made.add_items(VECTORS, np.arange(N)[::-1], num_threads=1)
    ground, upper, upper_begin, top = hnsw.links_of(made)
    assert ground.shape == (N, 16)
    assert upper.shape[1] == 8
    found = graph_search(made, VECTORS[::-1].copy())
    truth = [int(np.argmax(VECTORS[::-1] @ vector)) for vector in VECTORS[:100]]
    assert np.mean([nodes[0] == best for nodes, best in zip(found, truth, strict=True)]) > 0.97
    # On level 0 no list is empty, and each node above it has an entry for each level.
    assert (ground[:, 0] >= 0).all()
    assert (upper_begin >= 0).sum() <= len(upper)
    assert upper_begin[top[0]] >= 0


def graph_search(made, by_label):
    graph = Graph(hnsw.links_of(made))
    return [graph.nearest(index_of(by_label).table, vector, 50).tolist() for vector in VECTORS[:100]]


def test_labels_and_not_places_number_the_nodes_of_a_build_on_many_threads():
    made = hnswlib.Index(space="ip", dim=D)
    made.init_index(max_elements=N, M=16, ef_construction=100, random_seed=1)
    made.add_items(VECTORS, np.arange(N), num_threads=4)
    found = graph_search(made, VECTORS)
    truth = [int(np.argmax(VECTORS @ vector)) for vector in VECTORS[:100]]
    assert np.mean([nodes[0] == best for nodes, best in zip(found, truth, strict=True)]) > 0.97


def test_the_walk_finds_what_hnswlib_finds(graph):
    made = hnswlib.Index(space="ip", dim=D)
    made.init_index(max_elements=N, M=16, ef_construction=200, random_seed=100)
    made.add_items(VECTORS, np.arange(N), num_threads=1)
    made.set_ef(100)
    queries = reference.unit_vectors(22, 100, D)
    table = index_of(VECTORS).table
    theirs, _ = made.knn_query(queries, k=10)
    shared = sum(
        len(np.intersect1d(graph.nearest(table, query, 100)[:10], nodes))
        for query, nodes in zip(queries, theirs, strict=True)
    )
    assert shared >= 0.97 * 1000  # the last of ten may be another one: codes are not vectors


@pytest.mark.parametrize("lacking", ["M", "data_level0", "link_lists", "label_lookup_external"])
def test_a_state_of_another_hnswlib_is_refused(lacking):
    made = hnswlib.Index(space="ip", dim=D)
    made.init_index(max_elements=N)
    made.add_items(VECTORS, np.arange(N), num_threads=1)

    class Other:
        def __getstate__(self):
            (state,) = made.__getstate__()
            del state[lacking]
            return (state,)

    with pytest.raises(VectorError, match="keeps its links in another way"):
        hnsw.links_of(Other())


def test_a_graph_that_misses_too_much_is_not_kept(monkeypatch):
    tried = []

    def poor(graph, index):
        tried.append(graph.m)
        return 0.94

    monkeypatch.setattr(hnsw, "measure_recall", poor)
    report = build_graph(index_of(VECTORS[:100]))
    assert report.graph is None
    assert report.recall == 0.94
    assert tried == [16, 32, 48]


def test_more_links_are_tried_until_recall_suffices(monkeypatch):
    monkeypatch.setattr(hnsw, "measure_recall", lambda graph, index: 0.9 if graph.m < 32 else 0.99)
    assert build_graph(index_of(VECTORS[:100])).graph.m == 32


def test_recall_is_measured_against_the_scan(graph):
    assert measure_recall(graph, index_of(VECTORS)) > 0.98
    assert measure_recall(graph, index_of(VECTORS[::-1].copy())) < 0.9


@pytest.mark.parametrize("n", [1, 2, 9])
def test_tiny_graphs(n):
    report = build_graph(index_of(VECTORS[:n]))
    assert report.recall == 1.0
    table = index_of(VECTORS[:n]).table
    assert sorted(report.graph.nearest(table, VECTORS[0], n).tolist()) == list(range(n))


def test_a_builder_reports_its_graph_to_whoever_waits_for_it():
    reports = []
    builder = GraphBuilder(index_of(VECTORS), reports.append)
    builder.start()
    assert builder.join()
    assert not builder.running
    assert reports == [builder.report]
    assert builder.report.graph.count == N


def test_a_cancelled_build_ends_soon_and_calls_nobody():
    reports = []
    builder = GraphBuilder(index_of(np.tile(VECTORS, (20, 1))), reports.append)
    builder.start()
    time.sleep(0.05)
    builder.cancel()
    assert builder.join(timeout=30)
    assert builder.report.cancelled
    assert builder.report.graph is None
    assert reports == []


def test_what_the_listener_raises_reaches_join():
    def broken(report):
        raise OSError("no space")

    builder = GraphBuilder(index_of(VECTORS[:50]), broken)
    builder.start()
    with pytest.raises(OSError, match="no space"):
        builder.join()


def test_a_process_ends_cleanly_and_soon_in_the_middle_of_a_build():
    program = (
        "import numpy as np\n"
        "from pi_rank.ranking.graphs.builder import GraphBuilder\n"
        "from pi_rank.ranking.semantic import VectorIndex\n"
        "raw = np.random.default_rng(0).standard_normal((60000, 64), dtype=np.float32)\n"
        "unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)\n"
        "builder = GraphBuilder(VectorIndex.build(unit, np.arange(60000, dtype=np.int32)))\n"
        "builder.start()\n"
        "assert not builder.join(0.2)\n"
        "print('leaving')\n"
    )
    start = time.perf_counter()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "leaving\n", "")
    assert time.perf_counter() - start < hnsw_build_seconds_of_60000()


def hnsw_build_seconds_of_60000():
    """At least this long a whole build would take: 60,000 insertions, from the time of the first 1,500."""
    start = time.perf_counter()
    build_graph(index_of(reference.unit_vectors(1, 1500, 64)))
    return (time.perf_counter() - start) * 40


def test_only_a_build_needs_hnswlib(tmp_path, graph):
    save_graph(graph, tmp_path / "graph", KEY, bytes(16))
    program = (
        "import sys\n"
        "sys.modules['hnswlib'] = None\n"
        "from pathlib import Path\n"
        "from pi_rank.ranking.graphs.file import GraphKey, load_graph\n"
        "from pi_rank.ranking.semantic import VectorIndex\n"
        "import numpy as np\n"
        f"vectors, rows = np.load(sys.argv[1]), np.arange({N}, dtype=np.int32)\n"
        f"graph = load_graph(Path(sys.argv[2]), GraphKey('m', {D}, {N}, 'c'), bool)\n"
        "index = VectorIndex.build(vectors, rows)\n"
        "for one in (index, index.with_graph(graph)):\n"
        "    strategy = 'exact' if one.graph is None else 'hnsw'\n"
        "    found = one.search(vectors[1], 1, tie_rank=rows, strategy=strategy)\n"
        "    print(found.rows, found.strategy)\n"
    )
    np.save(tmp_path / "vectors.npy", VECTORS)
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "vectors.npy"), str(tmp_path / "graph")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.stdout, ended.stderr) == ("[1] exact\n[1] hnsw\n", "")
