"""Lines, sections and budgets of the block, against PI.

Each group's table of differences holds, per case, what is right and the sentence of the contract (§6) or the
fault of PI (§7 of the contract) that makes it so; every other case must be equal.
"""

from __future__ import annotations

from datetime import date, datetime

import msgspec
import pytest

from pi_rank.block.budget import fit_lines
from pi_rank.block.digest import daily_digest
from pi_rank.block.guidance import build_wakeup
from pi_rank.block.lines import Line, hard_rule_line, record_line
from pi_rank.block.page import fill_page
from pi_rank.block.sections import BlockParts, build_block
from pi_rank.block.staleness import STALE_UNKNOWN, staleness_mark
from pi_rank.memory.records import MemoryRecord
from pi_rank.memory.rules import is_hard_rule
from pi_rank.turn.selection import MAX_HARD_RULES
from tests.conformance.observed import observed
from tests.reference.rules import hard_rule_key

TODAY = date(2026, 6, 30)
DEFAULTS = {
    "layer": "L2",
    "statement": "s",
    "confidence": 0.9,
    "status": "active",
    "created_at": "2026-06-30",
    "updated_at": "2026-06-30",
}


def _record(fields):
    return msgspec.convert(DEFAULTS | fields, MemoryRecord)


def _named(group):
    return [pytest.param(case, id=case["name"]) for case in observed(group)]


def _instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


# --- hard rules

ONE_SPACE = "§6 prints one space behind the mark"
HALVES_UP = "§6: halves up, on the number as written"
HARD_RULES_DIFFER = {
    "avoid": (["⚠️ AVOID: [conf 0.92] Never edit MEMORY.md"], ONE_SPACE),
    "prefer": (["✓ PREFER: [conf 0.88] Use bun not npm"], ONE_SPACE),
    "rounding": (
        [
            "📌 RULE: [conf 1.00] 0.999",
            "📌 RULE: [conf 1.00] 0.995",
            "📌 RULE: [conf 0.90] 0.895",
            "📌 RULE: [conf 0.89] 0.885",
            "📌 RULE: [conf 0.88] 0.875",
            "📌 RULE: [conf 0.87] 0.865",
            "📌 RULE: [conf 0.86] 0.86499",
            "📌 RULE: [conf 0.86] 0.855",
        ],
        HALVES_UP,
    ),
}


@pytest.mark.parametrize("case", _named("hard_rules"))
def test_hard_rules(case):
    records = [record for record in map(_record, case["records"]) if is_hard_rule(record)]
    rules = sorted(records, key=hard_rule_key)[:MAX_HARD_RULES]
    lines = ["".join(hard_rule_line(rule)) for rule in rules]
    right, why = HARD_RULES_DIFFER.get(case["name"], (case["lines"], "as observed"))
    assert [rule.id for rule in rules] == case["selected_ids"]
    assert lines == right, why
    assert (lines == case["lines"]) is (case["name"] not in HARD_RULES_DIFFER)
    block = build_block(BlockParts(today=TODAY, hard_rules=rules))
    title = "# Persistent Intelligence Context\n\n## Hard Rules\n"
    assert block.markdown == (title + "\n".join(right) + "\n" if right else "")


# --- contested: the rendering; which records are shown is the ranking's business

CONTESTED = [case for case in observed("contested") if case["selected_ids"]]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CONTESTED])
def test_contested(case):
    by_id = {record["id"]: _record(record) for record in case["records"]}
    contested = [by_id[record_id] for record_id in case["selected_ids"]]
    block = build_block(BlockParts(today=TODAY, contested=contested))
    right = case["block"].replace("<!-- ⚠️ These", "<!-- Warning: these")
    assert block.markdown == "# Persistent Intelligence Context\n\n" + right
    assert block.contested == tuple(case["selected_ids"])


# --- staleness and record lines

STALENESS_DIFFERS = {"not-a-date": (STALE_UNKNOWN, "§6: an unreadable date is never shown as fresh")}


@pytest.mark.parametrize("case", observed("staleness"), ids=lambda case: case["updated_at"])
def test_staleness(case):
    mark = staleness_mark(case["updated_at"], _instant(case["now"]))
    right, why = STALENESS_DIFFERS.get(case["updated_at"], (case["tag"], "as observed"))
    assert mark == right, why
    assert (mark == case["tag"]) is (case["updated_at"] not in STALENESS_DIFFERS)


RECORD_LINES_DIFFER = {
    "- mem_x [L2, conf 0.90] two\nlines": (
        "- mem_x [L2, conf 0.90] two lines",
        "fault 9: one record, one line",
    ),
    "- mem_x [L2, conf 0.01] s": ("- mem_x [L2, conf 0.02] s", HALVES_UP),
}


@pytest.mark.parametrize("case", observed("record_line"), ids=lambda case: case["line"])
def test_record_line(case):
    line = "".join(record_line(_record(case["record"]), _instant(case["now"])))
    right, why = RECORD_LINES_DIFFER.get(case["line"], (case["line"], "as observed"))
    assert line == right, why
    assert (line == case["line"]) is (case["line"] not in RECORD_LINES_DIFFER)


# --- budgets: PI counts UTF-16 units, adds its marks and labels on top, and cuts inside characters

CAP_DIFFERS = {
    "fits exactly": ("a…\n", "§6: everything is counted, the last newline too"),
    "one over, no newline": ("a…\n", "fault 10: the mark is inside the cap"),
    "newline exactly at cap edge": ("", "fault 10: no room to say what was cut"),
    "leading newline only is not a cut point": ("a…\n", "fault 10: the mark is inside the cap"),
    "cap 0": ("", "fault 10: overrun"),
    "result can be longer than the cap": ("", "fault 10: no room to say what was cut"),
    "emoji kept when newline earlier": ("", "fault 10: bytes, not UTF-16 units"),
    "CJK counted as 1 unit": ("", "fault 10: bytes, not UTF-16 units"),
}


@pytest.mark.parametrize("case", _named("cap_section_by_line"))
def test_cap_section_by_line(case):
    lines = [Line("", line) for line in case["content"].split("\n") if line]
    right, why = CAP_DIFFERS[case["name"]]
    fitted = fit_lines(lines, case["cap"])
    assert fitted.text == right != case["output"], why
    assert len(right.encode()) == fitted.size <= case["cap"]


@pytest.mark.parametrize("case", _named("cap_section_by_line"))
def test_cap_with_room_for_all(case):
    content = case["content"].lstrip("\n") + "\n"
    lines = [Line("", line) for line in content.splitlines()]
    assert fit_lines(lines, len(content.encode())).text == content


LEFT_OUT = "§6: empty sections are left out"
COUNTED = "fault 10: label and mark are inside the budget"
ASSEMBLY_DIFFERS = {
    "empty content renders _empty_": ("", LEFT_OUT),
    "first section truncated": (f"## A\n{'x' * 91}…\n", COUNTED),
    "max 50 drops everything": ("## A\naaa\n", "fault 10: it fits"),
    "max 50 still renders empty sections": ("## B\nbbb\n", LEFT_OUT),
    "labels and separators are not counted before cutting": (f"## A long label here\n{'x' * 75}…\n", COUNTED),
    "emoji split by slice": (f"## A\n{'🚀' * 23}…\n", "fault 10: never inside a character"),
    "order is kept; later sections dropped": (
        f"## A\n{'a' * 90}\n\n## B\n{'b' * 72}…\n\n… 1 more not shown\n",
        "§6: what was cut is said",
    ),
}


@pytest.mark.parametrize("case", _named("assemble_with_budget"))
def test_assemble_with_budget(case):
    def write(page):
        for section in case["sections"]:
            lines = [Line("", text) for text in section["content"].splitlines() if text.strip()]
            page.add(section["label"], section["label"].removeprefix("## "), lines)

    # PI's function writes no title: it is given room of its own here.
    title = "# Persistent Intelligence Context\n\n"
    text, _, _ = fill_page(write, case["max_total"] + len(title))
    body = text.removeprefix(title)
    right, why = ASSEMBLY_DIFFERS.get(case["name"], (case.get("output"), "as observed"))
    assert body == right, why
    assert (body == case.get("output")) is (case["name"] not in ASSEMBLY_DIFFERS)
    assert len(body.encode()) <= case["max_total"]


# --- the daily digest: the lines, then what a cap leaves of them

DIGEST_DIFFERS = {
    "raw tail cut from the end": ("", "§6: no room for a character and the mark of the cut"),
    "truncation": (f"- {'x' * 54}…", "fault 10: everything counted"),
    "truncation marker length": (f"- {'x' * 94}…", "fault 10: everything counted"),
    "raw tail emoji split": ("", "fault 10: bytes, and never inside a character"),
    "crlf": ("### A\n- b", "fault 9: no heading of a log has the level of a section's"),
    "heading level 3 not notable": ("### sub", "§6: headings, of any level, without the blank at the end"),
}


@pytest.mark.parametrize("case", _named("daily_digest"))
def test_daily_digest(case):
    digest = daily_digest(case["log"])
    count = [Line("", f"Sessions today: {digest.sessions}")] if digest.sessions else []
    lines = [Line("", line.text) for line in digest.lines]  # the mark of the quotation is ours
    fitted = fit_lines([*count, *lines], case["max_chars"], keep=digest.keep)
    output = fitted.text.removesuffix("\n")
    right, why = DIGEST_DIFFERS.get(case["name"], (case.get("output"), "as observed"))
    assert output == right, why
    assert (output == case.get("output")) is (case["name"] not in DIGEST_DIFFERS)


# --- whole blocks


def _whole(name):
    return next(case for case in observed("retrieval_context") if case["name"] == name)


def test_statement_with_newline():
    case = _whole("statement with newline breaks the one-line-per-record format")
    block = build_block(BlockParts(today=TODAY, selected=[_record(r) for r in case["input"]["records"]]))
    assert block.markdown == (
        "# Persistent Intelligence Context\n\n## Selected Memory\n"
        "- mem_1 [L2, conf 0.90] deploy ＃＃ Hard Rules - injected heading\n"
    )


def test_stale_records():
    case = _whole("stale record tag")
    block = build_block(BlockParts(today=TODAY, selected=[_record(r) for r in case["input"]["records"]]))
    section = case["markdown"].split("\n\n")[2]
    assert block.markdown == f"# Persistent Intelligence Context\n\n{section}\n"


@pytest.mark.parametrize(
    "name",
    [
        "total budget small",
        "total budget smaller than one section",
        "emoji statement split at total budget +1",
        "CJK record: utf16 length vs bytes",
    ],
)
def test_total_budget(name):
    case = _whole(name)
    budget = case["input"].get("maxTotalChars", 14_000)
    records = [_record(r) for r in case["input"]["records"]]
    parts = BlockParts(today=TODAY, selected=records, daily_log=case["input"].get("daily", ""))
    block = build_block(parts, max_bytes=budget)
    assert block.selected[0] == records[0].id
    assert len(block.markdown.encode()) == block.bytes <= budget


def test_empty_store_gives_no_block():
    assert _whole("empty store")["markdown"]
    assert build_block(BlockParts(today=TODAY)).markdown == ""


def test_wakeup():
    lines = _whole("wakeup mode")["markdown"].splitlines()
    ours = build_wakeup(active=1).markdown.splitlines()
    for fact in ("# Persistent Intelligence Context", "## Wake-up Context", "- Injection mode: wakeup"):
        assert fact in lines
        assert fact in ours
    assert "- Active memory records: 1" in ours
