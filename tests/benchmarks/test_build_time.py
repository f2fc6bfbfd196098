"""The table of build times: the best of some builds, the sums, the ratio to another checkout."""

from __future__ import annotations

import pytest

pytest.importorskip("psutil")

from benchmarks.building.build_time import best, comparison, modules_table


def build(scale, *names):
    return {
        "seconds": {name: {"generate": 0.5 * scale, "compile": 1.5 * scale} for name in names},
        "bytes": {name: {"cpp": 2048, "module": 1024} for name in names},
        "whole": 2.0 * scale * len(names) + 1.0,
    }


def test_the_least_time_of_each_step_counts():
    slow, fast = build(2.0, "bm25"), build(1.0, "bm25")
    slow["seconds"]["bm25"]["generate"] = 0.25
    found = best([slow, fast])
    assert found["seconds"] == {"bm25": {"generate": 0.25, "compile": 1.5}}
    assert found["whole"] == 3.0


def test_the_slowest_module_is_first_and_all_is_last():
    one = build(1.0, "bm25", "vectors")
    one["seconds"]["vectors"]["compile"] = 4.0
    one["whole"] = 8.0
    lines = modules_table(one).splitlines()
    assert lines[2] == "| vectors | 0.50 | 4.00 | 2 | 1 |"
    assert lines[3] == "| bm25 | 0.50 | 1.50 | 2 | 1 |"
    assert lines[4] == "| all, setup.py included | 2.50 | 5.50 | 4 | 2 |"
    assert lines[-1] == "8.0 s of CPU in all."


def test_trees_are_compared_round_by_round_in_what_both_have():
    before = [build(4.0, "bm25"), build(2.0, "bm25")]
    now = [build(1.0, "bm25", "encoder"), build(1.0, "bm25", "encoder")]
    sentence = comparison(before, now)
    assert "the whole 0.56 to 1.00" in sentence
    assert "the modules that both have (1) 0.25 to 0.50" in sentence
