"""Whole turns and the four processors against PI: equal, or different for a fault of its, and right."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from pi_rank.context import SessionContext
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.overlap import OverlapIndex
from pi_rank.turn.turn import MAX_CONTESTED, MIN_OVERLAP
from tests.conformance.observed import observed
from tests.support.memory import engine_on

NOW = datetime(2026, 6, 30, 12, tzinfo=timezone.utc)
PROFILE = "project:t"
PLACE = {
    "project_root": "/home/me/current",
    "repository_id": "current",
    "working_directory": "/home/me/current",
}
PROCESSORS = [
    "StatusFilterProcessor",
    "ProfileScopeProcessor",
    "BasicScopeProcessor",
    "NegativeScopeProcessor",
]


def _named(group):
    return [pytest.param(case, id=case["name"]) for case in observed(group)]


def _turn(prompt, **fields):
    return SessionContext(latest_user_message=prompt, profile_id=PROFILE, **(PLACE | fields))


# --- the four processors

PIPELINE_DIFFERS = {
    # §7.3: a project name with no Latin letter never filters.
    "project scope with non-ascii name normalises to empty and is kept": {
        "BasicScopeProcessor": {"mem_a": "project_scope_mismatch:项目"}
    },
    # Ids are unique in our store: of two lines with one id the last counts, and sync reports the first.
    "duplicate ids": {},
}


@pytest.mark.parametrize("case", _named("processor_pipeline"))
def test_processors(case, tmp_path):
    with engine_on(tmp_path, case["records"]) as engine:
        # PI was asked "zzz", which is too short to be answered at all.
        asked = {"profile_id": PROFILE} | case["context"] | {"latest_user_message": "zzz zzz"}
        context = SessionContext(**asked)
        traces = {trace.processor: trace for trace in engine.build_retrieval_context(context).traces}
    assert list(traces) == PROCESSORS
    found = {name: dict(trace.exclusion_reasons) for name, trace in traces.items()}
    observed_reasons = {trace["processor"]: trace["exclusion_reasons"] for trace in case["traces"]}
    if case["name"] in PIPELINE_DIFFERS:
        assert found != observed_reasons
        assert found == {name: PIPELINE_DIFFERS[case["name"]].get(name, {}) for name in PROCESSORS}
    else:
        assert found == observed_reasons
        counts = [(trace["input_count"], trace["output_count"]) for trace in case["traces"]]
        assert [(trace.input_count, trace.output_count) for trace in traces.values()] == counts


# --- contested memory: which records, by what overlap

# §6: words are stemmed, function words are out; PI drops words of fewer than three letters, ours does not.
OVERLAP_DIFFERS = {
    "relevant and irrelevant": {"mem_a": 2 / 2},  # bun and test(ing); PI compares "tests" with "testing"
    "no stemming: test vs tests": {"mem_a": 1.0},
    "CJK never overlaps": {"mem_a": 1.0},
    "stopwords count as tokens": {"mem_a": 0.0},
}


@pytest.mark.parametrize("case", _named("contested"))
def test_contested_overlap(case):
    analyzer = FtsAnalyzer()
    records = case["records"]
    index = LexicalIndex.build(
        analyzer.document_terms([(record["statement"], " ".join(record["tags"])) for record in records])
    )
    everyone = np.ones(len(records), np.uint8)
    rows_of = np.arange(len(records), dtype=np.int32)
    rows, ratios = OverlapIndex(index, rows_of).best(
        analyzer.query_terms(case["prompt"]), len(records), eligible=everyone, tie_rank=rows_of
    )
    found = {record["id"]: 0.0 for record in records}
    found |= {records[row]["id"]: ratio for row, ratio in zip(rows.tolist(), ratios.tolist(), strict=True)}
    if case["name"] in OVERLAP_DIFFERS:
        right = {record["id"]: 0.0 for record in records} | OVERLAP_DIFFERS[case["name"]]
        assert found != pytest.approx(case["scores"])
        assert found == pytest.approx(right)
        return
    assert found == pytest.approx(case["scores"])
    chosen = [records[row]["id"] for row in rows[ratios > MIN_OVERLAP][:MAX_CONTESTED].tolist()]
    assert chosen == case["selected_ids"]


# --- term matching, where PI has no index and we have no hit

# Ours asks BM25 first, which knows words of two letters and of every script, and splits at punctuation.
# §4 of the contract: substrings do not count ("art" is not in "smart").
FOUND_DIFFERENTLY = {"art": False, "go ci qa": True, "部署": True, "pre-commit": True, "c++": True}


@pytest.mark.parametrize("case", observed("term_fallback"), ids=lambda case: case["prompt"])
def test_terms(case, tmp_path):
    with engine_on(
        tmp_path, [{"id": "mem_1", "statement": case["statement"], "tags": case["tags"]}]
    ) as engine:
        found = bool(engine.search(case["prompt"]))
    if case["prompt"] in FOUND_DIFFERENTLY:
        assert found is FOUND_DIFFERENTLY[case["prompt"]] is not case["relevant_l2"]
    else:
        assert found is case["relevant_l2"]


# --- whole turns, lexical only: which records are chosen

CHOSEN_DIFFERENTLY = {
    # §7.7: contested memory goes through profile, project and negative scope.
    "contested records bypass profile, project and negative scope": ([], []),
    # §7.4: words are ORed, punctuation is no syntax.
    "real FTS: question mark kills L2 selection and there is no fallback": (["mem_l2"], []),
    "real FTS: implicit AND kills L2 selection": (["mem_l2"], []),
    # §7.1: one letter of the prompt does not match a phrase.
    "negative scope by one-letter word in prompt": (["mem_1"], []),
}
# What PI got from the index it was handed, or from qmd, does not depend on the prompt and the records.
HANDED_RESULTS = {"fts", "qmd"}
ON_BUDGETS = {"maxTotalChars"}  # tests/conformance/test_block_observed.py


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"])
        for case in observed("retrieval_context")
        if not ON_BUDGETS & case["input"].keys()
        and (case["input"].get("fts") == "real" or not HANDED_RESULTS & case["input"].keys())
    ],
)
def test_turns(case, tmp_path):
    given = case["input"]
    with engine_on(tmp_path, given["records"], config=given.get("config")) as engine:
        result = engine.build_retrieval_context(_turn(given["prompt"]), today=NOW)
    chosen = [hit.id for hit in result.selected], [record.id for record in result.contested]
    observed_choice = case["selected_ids"], case["contested_ids"]
    if case["name"] in CHOSEN_DIFFERENTLY:
        assert chosen == CHOSEN_DIFFERENTLY[case["name"]] != observed_choice
    else:
        assert chosen == observed_choice


def test_identity_is_shown_whatever_is_asked(tmp_path):
    """As in PI, whose index was handed hits here that the prompt does not have."""
    case = next(c for c in observed("retrieval_context") if c["name"] == "L1 hits in FTS consume L2 slots")
    given = case["input"]
    config = {"retrieval": given["config"]["retrieval"] | {"maxRecords": given["maxRecords"]}}
    with engine_on(tmp_path, given["records"], config=config) as engine:
        result = engine.build_retrieval_context(_turn(given["prompt"]), today=NOW)
    assert [hit.id for hit in result.selected] == case["selected_ids"] == ["mem_a1"]


def test_a_tombstoned_record_that_is_active_in_the_file_is_not_shown(tmp_path):
    """§7.8, where PI shows it."""
    assert dict(observed("tombstone_observation"))["injected"] == ["mem_1"]
    records = [{"id": "mem_1", "statement": "deploy tests"}]
    with engine_on(tmp_path, records, tombstones=["mem_1"]) as engine:
        result = engine.build_retrieval_context(_turn("deploy tests"))
    assert result.selected == ()
    assert result.traces[0].exclusion_reasons == {"mem_1": "status:tombstoned"}
