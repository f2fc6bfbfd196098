"""The guards around hnswlib: each row of the contract that a graph in memory must survive."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from pi_rank.errors import VectorError
from pi_rank.ranking import hnsw
from pi_rank.ranking.graph_builder import GraphBuilder
from pi_rank.ranking.hnsw import build_graph, measure_recall
from pi_rank.ranking.semantic import VectorIndex
from tests.reference import vectors as reference

N, D = 1500, 24
VECTORS = reference.unit_vectors(21, N, D)


def ranks(n):
    return np.arange(n, dtype=np.int32)


def index_of(vectors):
    return VectorIndex.build(vectors, ranks(len(vectors)))


@pytest.fixture(scope="module")
def graph():
    return build_graph(index_of(VECTORS)).graph


def test_the_same_vectors_give_the_same_graph(graph):
    again = build_graph(index_of(VECTORS)).graph
    for vector in VECTORS[:200]:
        assert graph.nearest(vector, 50).tolist() == again.nearest(vector, 50).tolist()


def test_more_than_there_are_and_none_are_answered_with_nothing(graph):
    assert graph.nearest(VECTORS[0], N + 1).tolist() == []
    assert graph.nearest(VECTORS[0], 0).tolist() == []


def test_unreachable_nodes_do_not_leak_on_every_search():
    """hnswlib raises, and keeps its buffers, when it finds too few: that may happen once per graph."""
    made = hnsw.empty_index(D)
    made.init_index(max_elements=N, M=16, ef_construction=100, random_seed=1)
    made.add_items(VECTORS, np.arange(N), num_threads=1)
    for node in range(N // 2):
        made.mark_deleted(node)
    graph = hnsw.Graph(made)
    before = psutil.Process().memory_info().rss
    for _ in range(3000):
        assert graph.nearest(VECTORS[0], N - 1).tolist() == []
    assert psutil.Process().memory_info().rss - before < 8 << 20  # 3,000 failures would leak 54 MB
    assert len(graph.nearest(VECTORS[0], 100)) == 100


@pytest.mark.parametrize("query", [np.full(D, np.nan, np.float32), VECTORS[0][:-1], VECTORS[:2]])
def test_queries_that_hnswlib_would_accept_or_misread_are_refused(graph, query):
    with pytest.raises(VectorError, match="24 finite numbers"):
        graph.nearest(query, 3)


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
    assert measure_recall(graph, index_of(VECTORS[::-1].copy())) < 0.2


@pytest.mark.parametrize("n", [1, 2, 9])
def test_tiny_graphs(n):
    report = build_graph(index_of(VECTORS[:n]))
    assert report.recall == 1.0
    assert sorted(report.graph.nearest(VECTORS[0], n).tolist()) == list(range(n))


def test_many_threads_search_one_graph_alike(graph):
    expected = [graph.nearest(vector, 10).tolist() for vector in VECTORS[:100]]
    wrong = []

    def read():
        for vector, nodes in zip(VECTORS[:100], expected, strict=True):
            if graph.nearest(vector, 10).tolist() != nodes:
                wrong.append(nodes)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


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
        "from pi_rank.ranking.graph_builder import GraphBuilder\n"
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


def test_the_exact_scan_needs_no_hnswlib():
    program = (
        "import sys\n"
        "sys.modules['hnswlib'] = None\n"
        "import numpy as np\n"
        "from pi_rank.ranking.semantic import VectorIndex\n"
        "index = VectorIndex.build(np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32))\n"
        "print(index.search(np.eye(3, dtype=np.float32)[1], 1, tie_rank=np.arange(3, dtype=np.int32)).rows)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr) == ("[1]\n", "")
