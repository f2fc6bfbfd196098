"""The compiled vector scan against its plain-Python reference, on every kernel that this processor runs."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.vectors import VectorTable, kernels
from pi_rank.errors import VectorError
from tests.reference import vectors as reference


def table_of(vectors, row_node=None):
    rows = np.arange(len(vectors), dtype=np.int32) if row_node is None else row_node
    return VectorTable.build(vectors, rows)


def ranks(n):
    return np.arange(n, dtype=np.int32)


def as_pairs(found):
    rows, scores = found
    return list(zip(rows.tolist(), scores.tolist(), strict=True))


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    nodes=st.integers(1, 60),
    distinct=st.integers(1, 60),
    rows=st.integers(1, 90),
    dimension=st.sampled_from([1, 2, 7, 8, 31, 32, 33, 100]),
    k=st.integers(0, 100),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_every_kernel_gives_the_reference_rows_and_the_same_bits(
    seed, nodes, distinct, rows, dimension, k, share
):
    random = np.random.default_rng(seed)
    vectors = reference.unit_vectors(seed, nodes, dimension, distinct)
    query = reference.unit_vectors(seed + 1, 1, dimension)[0]
    row_node = random.integers(-1, nodes, rows, dtype=np.int32)
    eligible = (random.random(rows) < share).astype(np.uint8)
    tie_rank = random.permutation(rows).astype(np.int32)
    table = table_of(vectors, row_node)
    expected = reference.search(vectors, row_node, query, k, tie_rank, eligible)
    for kernel in kernels():
        found = table.search(query, k, tie_rank=tie_rank, eligible=eligible, kernel=kernel)
        assert as_pairs(found) == expected, kernel


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 30), queries=st.integers(0, 5))
def test_many_queries_equal_one_by_one_and_listed_rows_equal_eligible_rows(seed, k, queries):
    random = np.random.default_rng(seed)
    vectors = reference.unit_vectors(seed, 50, 24, 20)
    row_node = random.integers(-1, 50, 80, dtype=np.int32)
    tie_rank = random.permutation(80).astype(np.int32)
    asked = reference.unit_vectors(seed + 1, queries, 24)
    eligible = (random.random((queries, 80)) < 0.5).astype(np.uint8)
    table = table_of(vectors, row_node)
    many = table.search_many(asked, k, tie_rank=tie_rank, eligible=eligible)
    for query, flags, found in zip(asked, eligible, many, strict=True):
        one = as_pairs(table.search(query, k, tie_rank=tie_rank, eligible=flags))
        assert as_pairs(found) == one
        listed = np.flatnonzero(flags).astype(np.int32)
        assert as_pairs(table.search(query, k, tie_rank=tie_rank, rows=listed)) == one


@pytest.mark.parametrize("nodes", [1023, 1024, 1025, 3000])
def test_segments_and_blocks_have_no_seams(nodes):
    vectors = reference.unit_vectors(5, nodes, 16)
    query = reference.unit_vectors(6, 1, 16)[0]
    found = as_pairs(table_of(vectors).search(query, 20, tie_rank=ranks(nodes)))
    assert found == reference.search(vectors, range(nodes), query, 20, ranks(nodes))
    np.testing.assert_array_equal(table_of(vectors).vectors(0, nodes), vectors)


def test_a_component_that_dominates_costs_accuracy_of_codes_not_of_hits():
    vectors = reference.unit_vectors(7, 400, 384) * np.float32(0.02)
    vectors[:, 5] = 1.0
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    for query in (vectors[17], -vectors[17]):
        found = as_pairs(table_of(vectors).search(query, 5, tie_rank=ranks(400)))
        assert found == reference.search(vectors, range(400), query, 5, ranks(400))


def test_no_sum_overflows_where_every_component_is_at_its_largest():
    vectors = np.full((2, 4096), 1 / 64, dtype=np.float32)
    vectors[1] *= -1
    for kernel in kernels():
        rows, scores = table_of(vectors).search(vectors[0], 2, tie_rank=ranks(2), kernel=kernel)
        assert rows.tolist() == [0, 1]
        assert scores.tolist() == [1.0, -1.0]


def test_equal_scores_follow_the_tie_rank():
    vectors = np.repeat(reference.unit_vectors(1, 1, 12), 3, axis=0)
    tie_rank = np.array([2, 0, 1], dtype=np.int32)
    rows, _ = table_of(vectors).search(vectors[0], 2, tie_rank=tie_rank)
    assert rows.tolist() == [1, 2]


def test_an_update_is_invisible_to_the_old_table_and_two_updates_of_one_table_do_not_mix():
    vectors = reference.unit_vectors(2, 12, 10)
    old = table_of(vectors[:10])
    left = old.updated(vectors[10:11], ranks(11))
    right = old.updated(vectors[11:12], ranks(11))
    assert [old.count, left.count, right.count] == [10, 11, 11]
    np.testing.assert_array_equal(left.vectors(10, 11), vectors[10:11])
    np.testing.assert_array_equal(right.vectors(10, 11), vectors[11:12])
    assert old.search(vectors[10], 1, tie_rank=ranks(10))[1][0] < 1 - 1e-6
    assert left.search(vectors[10], 1, tie_rank=ranks(11))[0].tolist() == [10]
    assert right.search(vectors[11], 1, tie_rank=ranks(11))[0].tolist() == [10]


def test_one_vector_at_a_time_equals_all_at_once():
    vectors = reference.unit_vectors(3, 1100, 9)
    table = table_of(vectors[:1000])
    for n in range(1001, 1101):
        table = table.updated(vectors[n - 1 : n], ranks(n))
    query = vectors[1050]
    whole = table_of(vectors).search(query, 1100, tie_rank=ranks(1100))
    assert as_pairs(table.search(query, 1100, tie_rank=ranks(1100))) == as_pairs(whole)


def test_readers_of_an_old_table_are_right_while_a_writer_appends():
    vectors = reference.unit_vectors(4, 3000, 32)
    old = table_of(vectors[:1500])
    expected = as_pairs(old.search(vectors[7], 10, tie_rank=ranks(1500)))
    wrong, done = [], threading.Event()

    def read():
        while not done.is_set():
            found = as_pairs(old.search(vectors[7], 10, tie_rank=ranks(1500)))
            if found != expected:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    table = old
    for n in range(1501, 2501):
        table = table.updated(vectors[n - 1 : n], ranks(n))
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert table.search(vectors[2499], 1, tie_rank=ranks(2500))[0].tolist() == [2499]


VECTORS = reference.unit_vectors(8, 4, 6)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS.astype(np.float64), "dtype float32, not float64"),
        (VECTORS[0], "2 dimension"),
        (VECTORS.tolist(), "numpy array"),
        (np.zeros((2, 0), np.float32), "between 1 and 65536, not 0"),
        (VECTORS * np.float32(2), r"vectors\[0\] has length 2, not 1"),
        (np.vstack([VECTORS, np.full((1, 6), np.nan, np.float32)]), r"vectors\[4\] .* not finite"),
        (np.vstack([VECTORS, np.full((1, 6), np.inf, np.float32)]), r"vectors\[4\] .* not finite"),
        (np.zeros((1, 6), np.float32), r"vectors\[0\] has length 0"),
    ],
)
def test_bad_vectors_are_refused(vectors, message):
    with pytest.raises(VectorError, match=message):
        VectorTable.build(vectors, ranks(1))


@pytest.mark.parametrize(
    ("row_node", "message"),
    [
        (np.array([0, 4], np.int32), r"row_node\[1\] is 4, but there are 4"),
        (np.array([-2], np.int32), r"row_node\[0\] is -2"),
        (np.array([2**31 + 1], np.int64), "dtype int32, not int64"),
        (np.zeros((2, 2), np.int32), "1 dimension"),
    ],
)
def test_rows_without_an_existing_vector_are_refused(row_node, message):
    with pytest.raises(VectorError, match=message):
        VectorTable.build(VECTORS, row_node)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": VECTORS[0].astype(np.float64)}, "dtype float32, not float64"),
        ({"query": VECTORS[0, :5]}, "has dimension 5, the index 6"),
        ({"query": np.full(6, np.nan, np.float32)}, "not finite"),
        ({"query": VECTORS[0] * np.float32(3)}, "length 3, not 1"),
        ({"k": -1}, "k must not be negative, but is -1"),
        ({"tie_rank": ranks(3)}, "tie_rank has 3 entries for 4 rows"),
        ({"eligible": np.ones(5, np.uint8)}, "eligible has 5 entries for 4 rows"),
        ({"eligible": np.ones(4, bool)}, "dtype uint8, not bool"),
        ({"rows": np.array([4], np.int32)}, "between 0 and 3"),
        ({"rows": np.array([-1], np.int32)}, "between 0 and 3"),
        ({"kernel": "mmx"}, "unknown kernel 'mmx'"),
    ],
)
def test_bad_searches_are_refused(arguments, message):
    good = {"query": VECTORS[0], "k": 2, "tie_rank": ranks(4)}
    with pytest.raises(VectorError, match=message):
        table_of(VECTORS).search(**{**good, **arguments})


def test_as_many_eligibility_arrays_as_queries():
    with pytest.raises(VectorError, match="3 eligibility arrays for 2 queries"):
        table_of(VECTORS).search_many(VECTORS[:2], 1, tie_rank=ranks(4), eligible=[None] * 3)


def test_arrays_that_are_not_contiguous_are_used_as_they_read():
    wide = np.repeat(VECTORS, 2, axis=1)[:, ::2]
    table = VectorTable.build(wide, np.repeat(ranks(4), 2)[::2])
    flags = np.zeros(8, np.uint8)
    flags[2] = 1
    found = table.search(wide[1], 4, tie_rank=np.repeat(ranks(4), 2)[::2], eligible=flags[::2])
    assert found[0].tolist() == [1]


def test_nothing_to_find_is_no_error():
    table = table_of(VECTORS)
    empty = VectorTable.build(np.empty((0, 6), np.float32), np.array([-1, -1], np.int32))
    nobody = VectorTable.build(VECTORS, np.empty(0, np.int32))
    assert as_pairs(table.search(VECTORS[0], 0, tie_rank=ranks(4))) == []
    assert as_pairs(table.search(VECTORS[0], 3, tie_rank=ranks(4), eligible=np.zeros(4, np.uint8))) == []
    assert as_pairs(table.search(VECTORS[0], 3, tie_rank=ranks(4), rows=np.empty(0, np.int32))) == []
    assert as_pairs(empty.search(VECTORS[0], 3, tie_rank=ranks(2))) == []
    assert as_pairs(nobody.search(VECTORS[0], 3, tie_rank=ranks(0), eligible=np.empty(0, np.uint8))) == []


def test_the_table_does_not_change_with_the_arrays_it_was_made_of():
    vectors, row_node = VECTORS.copy(), ranks(4)
    table = VectorTable.build(vectors, row_node)
    vectors[:] = 0
    row_node[:] = 0
    assert table.search(VECTORS[3], 1, tie_rank=ranks(4))[0].tolist() == [3]
    with pytest.raises(ValueError, match="read-only"):
        table.row_node[0] = 1
