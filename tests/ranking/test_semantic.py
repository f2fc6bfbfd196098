"""The vector index: both strategies, updates, shared vectors, batches."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.errors import VectorError
from pi_rank.ranking.semantic import VectorIndex
from tests.reference import vectors as reference
from tests.support.graphs import graph_of

N, D = 4000, 32
VECTORS = reference.unit_vectors(11, N + 50, D)
QUERIES = reference.unit_vectors(12, 40, D)


def ranks(n):
    return np.arange(n, dtype=np.int32)


def expected(index, query, k, tie_rank, eligible=None):
    vectors = index.vectors(0, index.count)
    return reference.search(vectors, index.row_node, query, k, tie_rank, eligible)


def as_pairs(hits):
    return list(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))


@pytest.fixture(scope="module")
def graph():
    return graph_of(VectorIndex.build(VECTORS[:N], ranks(N)))


@pytest.fixture(scope="module")
def index(graph):
    return VectorIndex.build(VECTORS[:N], ranks(N)).with_graph(graph)


def test_the_graph_finds_nearly_what_the_scan_finds_with_the_same_scores(index):
    shared = 0
    for query in QUERIES:
        exact = index.search(query, 10, tie_rank=ranks(N), strategy="exact")
        approximate = index.search(query, 10, tie_rank=ranks(N), strategy="hnsw")
        assert (exact.strategy, approximate.strategy) == ("exact", "hnsw")
        shared += len(set(as_pairs(exact)) & set(as_pairs(approximate)))
    assert shared >= 0.97 * 10 * len(QUERIES)


@pytest.mark.parametrize("share", [0.99, 0.5, 0.2])
def test_a_filtered_graph_search_gives_k_eligible_rows(index, share):
    random = np.random.default_rng(3)
    shared = 0
    for query in QUERIES:
        eligible = (random.random(N) < share).astype(np.uint8)
        hits = index.search(query, 10, tie_rank=ranks(N), eligible=eligible, strategy="hnsw")
        assert len(hits.rows) == 10
        assert eligible[hits.rows].all()
        exact = index.search(query, 10, tie_rank=ranks(N), eligible=eligible, strategy="exact")
        shared += len(np.intersect1d(hits.rows, exact.rows))
    assert shared >= 0.95 * 10 * len(QUERIES)


def test_the_graph_gives_way_where_too_few_eligible_rows_are_near(index):
    far = np.argsort(VECTORS[:N] @ QUERIES[0])[: N // 2]
    eligible = np.zeros(N, np.uint8)
    eligible[far] = 1  # half of all rows, and none of the nearest half: over-fetching cannot see it coming
    hits = index.search(QUERIES[0], 10, tie_rank=ranks(N), eligible=eligible, strategy="hnsw")
    assert hits.strategy == "exact"
    assert as_pairs(hits) == expected(index, QUERIES[0], 10, ranks(N), eligible)


def test_few_eligible_rows_are_scanned(index):
    eligible = np.zeros(N, np.uint8)
    eligible[[7, 70, 700]] = 1
    for strategy in ("auto", "hnsw"):
        hits = index.search(QUERIES[1], 10, tie_rank=ranks(N), eligible=eligible, strategy=strategy)
        assert hits.strategy == "exact"
        assert sorted(hits.rows.tolist()) == [7, 70, 700]


def test_vectors_newer_than_the_graph_are_found(index):
    grown = index.updated(VECTORS[N:], ranks(N + 50))
    for node in (N, N + 49):
        hits = grown.search(VECTORS[node], 3, tie_rank=ranks(N + 50), strategy="hnsw")
        assert hits.strategy == "hnsw"
        assert hits.rows[0] == node
    assert index.search(VECTORS[N], 3, tie_rank=ranks(N), strategy="hnsw").rows[0] != N


def test_every_row_of_a_shared_vector_is_found_and_rows_without_one_never(graph):
    row_node = np.concatenate([ranks(N), np.full(5, 17), np.full(5, -1)]).astype(np.int32)
    index = VectorIndex.build(VECTORS[:N], row_node).with_graph(graph)
    tie_rank = np.arange(len(row_node))[::-1].astype(np.int32).copy()
    for strategy in ("exact", "hnsw"):
        hits = index.search(VECTORS[17], 6, tie_rank=tie_rank, strategy=strategy)
        assert hits.strategy == strategy
        assert hits.rows.tolist() == [N + 4, N + 3, N + 2, N + 1, N, 17]
        assert len(set(hits.scores.tolist())) == 1
    everything = index.search(VECTORS[17], 10 * N, tie_rank=tie_rank)
    assert sorted(everything.rows.tolist()) == list(range(N + 5))


def test_a_row_that_lost_its_vector_is_gone_from_both_strategies(index):
    row_node = ranks(N)
    row_node[17] = -1
    changed = index.updated(np.empty((0, D), np.float32), row_node)
    for strategy in ("exact", "hnsw"):
        assert 17 not in changed.search(VECTORS[17], 5, tie_rank=ranks(N), strategy=strategy).rows
        assert 17 in index.search(VECTORS[17], 5, tie_rank=ranks(N), strategy=strategy).rows


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 30), k=st.integers(0, 40))
def test_an_updated_index_equals_one_built_at_once(seed, cut, k):
    random = np.random.default_rng(seed)
    vectors = reference.unit_vectors(seed, 30, 8, 20)
    before = random.integers(-1, max(cut, 0), 20, dtype=np.int32) if cut else np.full(20, -1, np.int32)
    after = random.integers(-1, 30, 45, dtype=np.int32)
    tie_rank = random.permutation(45).astype(np.int32)
    index = VectorIndex.build(vectors[:cut], before).updated(vectors[cut:], after)
    hits = index.search(vectors[0], k, tie_rank=tie_rank)
    assert as_pairs(hits) == expected(index, vectors[0], k, tie_rank)
    assert hits.strategy == "exact"


@pytest.mark.parametrize("strategy", ["auto", "exact", "hnsw"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_equals_one_by_one(index, strategy, threads):
    random = np.random.default_rng(4)
    queries = np.concatenate([QUERIES, QUERIES])
    shares = random.choice([0.0, 0.01, 0.5, 1.0], len(queries))
    eligible = [(random.random(N) < share).astype(np.uint8) for share in shares]
    batch = index.search_batch(
        queries, 7, tie_rank=ranks(N), eligible=eligible, strategy=strategy, threads=threads
    )
    for query, flags, hits in zip(queries, eligible, batch, strict=True):
        one = index.search(query, 7, tie_rank=ranks(N), eligible=flags, strategy=strategy)
        assert as_pairs(hits) == as_pairs(one)


def test_a_batch_may_share_its_eligibility_or_have_none(index):
    flags = np.zeros(N, np.uint8)
    flags[:100] = 1
    shared = index.search_batch(QUERIES, 5, tie_rank=ranks(N), eligible=flags)
    apart = index.search_batch(QUERIES, 5, tie_rank=ranks(N), eligible=np.tile(flags, (len(QUERIES), 1)))
    assert [as_pairs(hits) for hits in shared] == [as_pairs(hits) for hits in apart]
    assert max(hits.rows.max() for hits in shared) < 100
    assert len(index.search_batch(QUERIES, 5, tie_rank=ranks(N))) == len(QUERIES)
    assert index.search_batch(QUERIES[:0], 5, tie_rank=ranks(N)) == []


def test_auto_takes_the_graph_where_it_is_cheaper_and_only_there():
    n = 12_000
    index = VectorIndex.build(reference.unit_vectors(13, n, 8), ranks(n))
    query = reference.unit_vectors(14, 1, 8)[0]
    assert index.search(query, 10, tie_rank=ranks(n)).strategy == "exact"
    index = index.with_graph(graph_of(index))
    assert index.search(query, 10, tie_rank=ranks(n)).strategy == "hnsw"
    few = np.zeros(n, np.uint8)
    few[::50] = 1
    assert index.search(query, 10, tie_rank=ranks(n), eligible=few).strategy == "exact"
    assert index.search(query, n, tie_rank=ranks(n)).strategy == "exact"


def test_a_graph_is_wanted_where_it_halves_the_cost_and_again_when_it_is_outgrown():
    vectors = reference.unit_vectors(16, 40_000, 8)
    assert not VectorIndex.build(vectors[:2_000], ranks(2_000)).wants_graph
    index = VectorIndex.build(vectors[:30_000], ranks(30_000))
    assert index.wants_graph
    assert not index.with_graph(FarGraph(vectors[:30_000])).wants_graph
    assert not index.with_graph(FarGraph(vectors[:29_000])).wants_graph
    assert index.with_graph(FarGraph(vectors[:10_000])).wants_graph


class FarGraph:
    """A graph that is never searched: only its size matters here."""

    def __init__(self, vectors):
        self.count = len(vectors)


def test_one_more_vector_costs_a_small_part_of_building_the_index():
    vectors = reference.unit_vectors(15, 20_001, 64)

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    index = VectorIndex.build(vectors[:-1], ranks(20_000))
    build = min(seconds(lambda: VectorIndex.build(vectors[:-1], ranks(20_000))) for _ in range(5))
    update = min(seconds(lambda: index.updated(vectors[-1:], ranks(20_001))) for _ in range(5))
    assert update * 20 < build


def test_auto_scans_a_small_index_even_with_a_graph():
    small = VectorIndex.build(VECTORS[:200], ranks(200))
    with_graph = small.with_graph(graph_of(small))
    assert with_graph.search(QUERIES[0], 5, tie_rank=ranks(200)).strategy == "exact"


@pytest.mark.parametrize("k", [0, 1, N, 2 * N])
@pytest.mark.parametrize("strategy", ["auto", "exact", "hnsw"])
def test_any_k_and_everything_excluded(index, k, strategy):
    hits = index.search(QUERIES[0], k, tie_rank=ranks(N), strategy=strategy)
    assert len(hits.rows) == min(k, N)
    none = index.search(QUERIES[0], k, tie_rank=ranks(N), eligible=np.zeros(N, np.uint8), strategy=strategy)
    assert none.rows.tolist() == []


def test_an_empty_index_answers_and_grows():
    empty = VectorIndex.build(np.empty((0, D), np.float32), np.full(3, -1, np.int32))
    assert empty.search(QUERIES[0], 5, tie_rank=ranks(3)).rows.tolist() == []
    assert graph_of(empty) is None
    grown = empty.updated(VECTORS[:1], np.array([-1, 0, -1], np.int32))
    assert grown.search(QUERIES[0], 5, tie_rank=ranks(3)).rows.tolist() == [1]


def test_wrong_graphs_and_strategies_are_refused(index, graph):
    with pytest.raises(VectorError, match=r"holds 4000 vectors, the index 100"):
        VectorIndex.build(VECTORS[:100], ranks(100)).with_graph(graph)
    with pytest.raises(VectorError, match="no graph is attached"):
        index.with_graph(None).search(QUERIES[0], 5, tie_rank=ranks(N), strategy="hnsw")
    with pytest.raises(VectorError, match="unknown strategy 'fast'"):
        index.search(QUERIES[0], 5, tie_rank=ranks(N), strategy="fast")


@pytest.mark.parametrize("strategy", ["exact", "hnsw"])
@pytest.mark.parametrize(
    "query",
    [
        QUERIES[0].astype(np.float64),
        QUERIES[0][:-1],
        np.full(D, np.nan, np.float32),
        QUERIES[:1],
        QUERIES[0] * 2,
    ],
)
def test_bad_queries_are_refused_by_both_strategies(index, query, strategy):
    with pytest.raises(VectorError):
        index.search(query, 5, tie_rank=ranks(N), strategy=strategy)


def test_updates_with_other_vectors_are_refused(index):
    with pytest.raises(VectorError, match="has dimension 31, the index 32"):
        index.updated(reference.unit_vectors(1, 1, 31), ranks(N))
    with pytest.raises(VectorError, match=r"row_node\[4000\] is 4000"):
        index.updated(np.empty((0, D), np.float32), ranks(N + 1))
