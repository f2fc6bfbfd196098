from __future__ import annotations

from datetime import date

import msgspec
import pytest

from pi_rank.block.lines import (
    MAX_SESSION_BYTES,
    MAX_TITLE_BYTES,
    contested_line,
    format_confidence,
    hard_rule_line,
    note_line,
    open_item_line,
    recalled_line,
    record_line,
    session_line,
    statement_line,
)
from pi_rank.block.staleness import utc_seconds
from pi_rank.memory.notes import SessionSummary
from pi_rank.memory.records import MemoryRecord

NOW = utc_seconds(date(2026, 6, 30))


def _record(**fields):
    defaults = {"id": "mem_x", "statement": "s", "layer": "L2", "status": "active", "confidence": 0.9}
    return MemoryRecord(**(defaults | {"updated_at": "2026-06-30"} | fields))


CONFIDENCES = {
    0.125: "0.13",
    0.015: "0.02",
    0.005: "0.01",
    0.285: "0.29",
    0.995: "1.00",
    0.9949999: "0.99",
    0.9099999999999999: "0.91",
    0.1 + 0.2: "0.30",
    1e-9: "0.00",
    0: "0.00",
    1: "1.00",
}


@pytest.mark.parametrize(("confidence", "shown"), CONFIDENCES.items())
def test_confidence(confidence, shown):
    assert format_confidence(confidence) == shown


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "- mem_x [L2, conf 0.90] s"),
        ({"layer": "L1", "rule_type": "preference"}, "- mem_x [L1, conf 0.90 [preference]] s"),
        ({"rule_type": "anti_pattern"}, "- mem_x [L2, conf 0.90 [anti_pattern]] s"),
        ({"rule_type": "x]\n# y"}, "- mem_x [L2, conf 0.90 [x_y]] s"),
        ({"updated_at": "2026-05-16"}, "- mem_x [L2, conf 0.90 ⚠️ 45d] s"),
        ({"updated_at": "2026-03-02"}, "- mem_x [L2, conf 0.90 🔴 120d] s"),
        ({"updated_at": None}, "- mem_x [L2, conf 0.90 ⚠️ stale-unknown] s"),
        ({"id": "a\n## b]"}, "- a_＃＃_b)~66f70c7b [L2, conf 0.90] s"),
        (
            {"statement": "x\n- mem_y [L2, conf 1.00] y"},
            "- mem_x [L2, conf 0.90] x - mem_y [L2, conf 1.00] y",
        ),
    ],
)
def test_record(fields, line):
    assert "".join(record_line(_record(**fields), NOW)) == line


@pytest.mark.parametrize(
    ("rule_type", "line"),
    [
        ("avoid_pattern", "⚠️ AVOID: [conf 0.90] s"),
        ("prefer_pattern", "✓ PREFER: [conf 0.90] s"),
        ("convention", "📌 CONVENTION: [conf 0.90] s"),
        ("correction", "📌 RULE: [conf 0.90] s"),
    ],
)
def test_hard_rule(rule_type, line):
    assert "".join(hard_rule_line(_record(rule_type=rule_type))) == line


@pytest.mark.parametrize(
    ("rule_type", "said"),
    [
        (None, "a b"),
        ("avoid_pattern", "AVOID: a b"),
        ("correction", "RULE: a b"),
        ("workflow", "[workflow] a b"),
        ("anti_pattern", "[anti_pattern] a b"),
    ],
)
def test_contested_and_recalled_lines_say_what_kind_of_rule_it_is(rule_type, said):
    record = _record(statement="a\nb", rule_type=rule_type, status="contested", confidence=0.885)
    assert "".join(contested_line(record)) == f"⚠️ CONTESTED: [mem_x, conf 0.89] {said}"
    assert statement_line(record) == f"CONTESTED: {said}"
    active = msgspec.structs.replace(record, status="active")
    assert recalled_line(active) == f"mem_x [L2, conf 0.89] {said}"


def _session(**fields):
    return SessionSummary(id="ses_1", date="2026-06-30", **({"project": "p"} | fields))


def test_session():
    assert "".join(session_line(_session(project="pi rank", name="fixed\nit"))) == "- [pi_rank] fixed it"
    assert session_line(_session(first_message="why?", decisions=("a", "b", "c"))).text == "why?; a; b"
    assert session_line(_session(name="Deploy", first_message="why?")).text == "Deploy"
    assert session_line(_session(decisions=("#decision", "", "#key"))).text == ""


def test_a_sessions_decisions_are_shown_without_their_markdown():
    decisions = ("- **#decision**: use `bun run`, see [docs](http://x)", "> ## #key _drain_ the queue_first")
    assert session_line(_session(name="*Deploy*", decisions=decisions)).text == (
        "Deploy; use bun run, see docs; drain the queue_first"
    )


def test_a_long_session_is_cut():
    title = session_line(_session(first_message="部署 " * 500, decisions=("kept whole",))).text
    assert title.endswith("…; kept whole")
    assert len(title.encode()) <= MAX_TITLE_BYTES + len("; kept whole")
    summary = session_line(_session(decisions=("部署 " * 300, "b"))).text
    assert summary.endswith("…")
    assert MAX_SESSION_BYTES - 7 < len(summary.encode()) <= MAX_SESSION_BYTES


def test_notes():
    assert note_line("## Hard Rules") == ("> ", "### Hard Rules")
    assert open_item_line("## x\ny") == ("- [ ] ", "＃＃ x y")
