"""Layer budgets, against PI."""

from __future__ import annotations

import numpy as np
import pytest

from pi_rank.turn.selection import select
from tests.conformance.observed import observed

# (l1_count, l2_count, maxRecords, maxL1, maxL2) -> what is right, and why.
DIFFERS = {
    (10, 10, 5, 4, 8): (
        ["L1_0", *(f"L2_{i}" for i in range(4))],
        "fault 6: L1's share of 5 is 1, the rest is L2's",
    ),
}


def _key(case):
    return tuple(case[name] for name in ("l1_count", "l2_count", "maxRecords", "maxL1", "maxL2"))


@pytest.mark.parametrize("case", observed("layer_budgets"), ids=lambda case: "-".join(map(str, _key(case))))
def test_layer_budgets(case):
    names = [f"L1_{i}" for i in range(case["l1_count"])] + [f"L2_{i}" for i in range(case["l2_count"])]
    layers = np.array([int(name[1]) for name in names], dtype=np.uint8)
    rows = select(
        np.arange(len(names), dtype=np.int32),
        layers,
        max_records=case["maxRecords"],
        max_l1=case["maxL1"],
        max_l2=case["maxL2"],
    )
    selected = [names[row] for row in rows]
    right, why = DIFFERS.get(_key(case), (case["selected"], "as observed"))
    assert selected == right, why
    assert (selected == case["selected"]) is (_key(case) not in DIFFERS)


def test_l1_hits_leave_l2_its_slots():
    case = next(c for c in observed("retrieval_context") if c["name"] == "L1 hits in FTS consume L2 slots")
    records = case["input"]["records"]
    layers = np.array([int(r.get("layer", "L2")[1]) for r in records], dtype=np.uint8)
    rows = select(np.arange(len(records), dtype=np.int32), layers, max_records=4, max_l1=1, max_l2=2)
    assert case["selected_ids"] == ["mem_a1"]
    assert [records[row]["id"] for row in rows] == ["mem_a1", "mem_l2"]
