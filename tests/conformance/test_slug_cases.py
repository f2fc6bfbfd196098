"""Project keys against what PI was observed to make of them; where PI is at fault, ours must differ."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi_rank.memory.project import slug

SHARED = os.environ.get("PI_RANK_SHARED")
pytestmark = pytest.mark.skipif(
    not SHARED, reason="set PI_RANK_SHARED to the folder that holds cases/pi-observed.json"
)
CASES = (
    json.loads((Path(SHARED) / "cases" / "pi-observed.json").read_text(encoding="utf-8"))["normalize_key"]
    if SHARED
    else []
)
OURS = {"项目": "项目"}  # fault 3: PI drops every letter that is not Latin, so such a project never filters


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["input"]))
def test_slug(case):
    name = case["input"]
    if name in OURS:
        assert case["output"] == ""
        assert slug(name) == OURS[name]
    else:
        assert slug(name) == case["output"]


def test_every_fault_has_its_case():
    assert {case["input"] for case in CASES} >= OURS.keys()
