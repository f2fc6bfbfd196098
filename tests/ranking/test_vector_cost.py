"""The cost model: which strategy wins where, as measured."""

from __future__ import annotations

import pytest

from pi_rank.ranking.vector_cost import exact_cost, fetch_size, graph_cost


@pytest.mark.parametrize(
    ("k", "share", "nodes"), [(1, 1.0, 100), (33, 1.0, 100), (34, 1.0, 102), (50, 0.1, 1500), (3, 0.01, 900)]
)
def test_fetch_size_is_three_times_k_over_the_share_and_at_least_ef(k, share, nodes):
    assert fetch_size(k, share) == nodes


@pytest.mark.parametrize(
    ("nodes", "share", "k", "graph_wins"),
    [
        (1_000, 1.0, 10, False),
        (10_000, 1.0, 100, False),
        (20_000, 1.0, 10, True),
        (100_000, 1.0, 100, True),
        (100_000, 0.5, 100, True),
        (100_000, 0.1, 10, False),
        (100_000, 0.01, 10, False),
        (1_000_000, 0.001, 10, False),
    ],
)
def test_the_cheaper_strategy_is_the_one_that_measured_faster(nodes, share, k, graph_wins):
    exact = exact_cost(nodes, int(nodes * share), 384, k)
    assert (graph_cost(fetch_size(k, share), nodes, 0, 384) < exact) == graph_wins


def test_many_rows_that_the_graph_lacks_make_the_scan_cheaper():
    exact = exact_cost(100_000, 100_000, 384, 10)
    assert graph_cost(100, 50_000, 10_000, 384) < exact < graph_cost(100, 1_000, 99_000, 384)


def test_a_pass_shared_by_many_queries_is_cheaper_for_each():
    assert exact_cost(100_000, 100_000, 384, 10, queries=32) < exact_cost(
        100_000, 100_000, 384, 10, queries=1
    )
