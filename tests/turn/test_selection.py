from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.errors import ConfigError
from pi_rank.memory.records import MemoryRecord
from pi_rank.memory.rules import is_hard_rule
from pi_rank.results import Hit
from pi_rank.turn.selection import default_max_l1, layer_limits, select, with_identity
from tests.reference.rules import hard_rule_key


def _select(ranked, layers, **limits):
    rows = np.array(ranked, dtype=np.int32)
    return rows[select(rows, np.array(layers, dtype=np.uint8), **limits)].tolist()


def _record(**fields):
    defaults = {"id": "mem_1", "statement": "s", "layer": "L2", "status": "active", "confidence": 0.85}
    return MemoryRecord(**(defaults | {"rule_type": "correction"} | fields))


def test_l1_first_each_layer_in_rank_order():
    assert _select([3, 0, 4, 1, 2], [1, 2, 3, 2, 1]) == [0, 4, 3, 1, 2]


def test_l1_never_takes_an_l2_slot():
    layers = [1] * 20 + [2] * 20
    assert _select(range(40), layers) == [0, 1, 2, 3, *range(20, 28)]
    assert _select(range(20), layers) == [0, 1, 2, 3]


def test_l2_gets_what_l1_leaves():
    layers = [1, 1] + [2] * 20
    assert _select(range(22), layers) == [0, 1, *range(2, 12)]
    assert _select(range(2, 22), layers) == list(range(2, 14))


def _hit(record_id, layer="L1"):
    return Hit(record_id, 1.0, _record(id=record_id, layer=layer))


@given(
    st.lists(st.integers(0, 9), unique=True, max_size=8),
    st.integers(0, 5),
    st.integers(0, 6),
)
def test_identity_fills_what_the_ranking_leaves(ranked, others, max_l1):
    identity = [_record(id=f"mem_{number}", layer="L1") for number in range(10)]
    selected = [_hit(f"mem_{number}") for number in ranked[:max_l1]]
    rest = [_hit(f"play_{number}", "L2") for number in range(others)]
    filled = with_identity([*selected, *rest], identity[:max_l1], max_l1)
    assert filled[: len(selected)] == tuple(selected)
    assert filled[max_l1:] == tuple(rest)
    assert len({hit.id for hit in filled}) == max_l1 + others
    added = filled[len(selected) : max_l1]
    assert [hit.id for hit in added] == sorted(hit.id for hit in added)
    assert all((hit.score, hit.sources) == (0.0, ()) for hit in added)


def test_excluded_rows_take_no_slot():
    layers = [2] * 30
    assert _select(range(30), layers, exclude=frozenset({0, 2})) == [1, *range(3, 14)]


@pytest.mark.parametrize(
    ("max_records", "share"),
    [(0, 0), (1, 0), (2, 0), (3, 1), (5, 1), (6, 2), (11, 3), (12, 4), (20, 4), (100, 4)],
)
def test_default_share_of_l1(max_records, share):
    assert default_max_l1(max_records) == share


@pytest.mark.parametrize(
    ("limits", "right"),
    [
        ((12, None, None), (4, 12)),
        ((12, 2, None), (2, 12)),
        ((12, 4, 8), (4, 8)),
        ((12, 12, 0), (12, 0)),
        ((5, 4, 8), (1, 8)),
        ((4, 9, 4), (1, 4)),
        ((12, None, 12), (4, 12)),
        ((0, 4, 8), (0, 8)),
    ],
)
def test_limits_that_do_not_fit_are_settled_for_l2(limits, right):
    assert layer_limits(*limits) == right


@pytest.mark.parametrize("name", ["max_records", "max_l1", "max_l2"])
def test_negative_limit(name):
    with pytest.raises(ConfigError, match=f"{name} is -1"):
        _select([0], [1], **{name: -1})


def test_nothing_ranked():
    assert _select([], [1, 2]) == []
    assert _select([0, 1], [1, 2], max_records=0) == []


@given(
    st.lists(st.sampled_from([1, 2, 3]), max_size=40).flatmap(
        lambda layers: st.tuples(st.just(layers), st.permutations(range(len(layers))))
    ),
    st.integers(0, 20),
    st.none() | st.integers(0, 20),
    st.none() | st.integers(0, 20),
    st.frozensets(st.integers(0, 39), max_size=6),
)
def test_limits_hold_and_order_is_kept(ranking, max_records, max_l1, max_l2, exclude):
    layers, ranked = ranking
    chosen = _select(ranked, layers, max_records=max_records, max_l1=max_l1, max_l2=max_l2, exclude=exclude)
    first = [row for row in chosen if layers[row] == 1]
    rest = [row for row in chosen if layers[row] != 1]
    assert chosen == first + rest
    assert len(chosen) <= max_records
    assert first == [row for row in ranked if row in first]
    assert rest == [row for row in ranked if row in rest]
    assert not exclude & set(chosen)
    assert max_l1 is None or len(first) <= max_l1
    assert max_l2 is None or len(rest) <= max_l2


@pytest.mark.parametrize("rule_type", ["avoid_pattern", "prefer_pattern", "convention", "correction"])
def test_hard_rules(rule_type):
    assert is_hard_rule(_record(rule_type=rule_type))


@pytest.mark.parametrize(
    "fields",
    [
        {"rule_type": None},
        {"rule_type": "workflow"},
        {"layer": "L1"},
        {"layer": "L3"},
        {"confidence": 0.8499999},
        {"status": "contested"},
        {"status": "deleted"},
    ],
)
def test_not_hard_rules(fields):
    assert not is_hard_rule(_record(**fields))


def test_hard_rule_order():
    records = [
        _record(id="b", confidence=0.9),
        _record(id="c", confidence=0.95),
        _record(id="a", confidence=0.9),
    ]
    assert [record.id for record in sorted(records, key=hard_rule_key)] == ["c", "a", "b"]
