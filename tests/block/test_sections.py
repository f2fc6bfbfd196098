from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.block.page import TITLE
from pi_rank.block.sections import BlockParts, build_block, count_hard_rules
from pi_rank.errors import ConfigError
from pi_rank.memory.notes import SessionSummary
from pi_rank.memory.records import MemoryRecord

TODAY = date(2026, 6, 30)
HEADINGS = [
    "## Hard Rules",
    "## Selected Memory",
    "## Scratchpad",
    "## Contested Memory",
    "## Daily Log (2026-06-30)",
    "## Today's Sessions",
]


def _record(record_id, statement, **fields):
    defaults = {"layer": "L2", "status": "active", "confidence": 0.9, "updated_at": "2026-06-30"}
    return MemoryRecord(id=record_id, statement=statement, **(defaults | fields))


def _rule(record_id, statement):
    return _record(record_id, statement, rule_type="correction")


def _session(project, name, decisions=()):
    return SessionSummary(id="ses", date="2026-06-30", project=project, name=name, decisions=tuple(decisions))


FULL = BlockParts(
    today=TODAY,
    hard_rules=[
        _record("mem_1", "Never edit MEMORY.md", rule_type="avoid_pattern", confidence=0.92),
        _record("mem_2", "Use bun", rule_type="convention", confidence=0.89),
    ],
    selected=[
        _record("mem_abc", "Deploys run on Tuesday", layer="L1", confidence=0.94),
        _record("mem_def", "Tests need the proxy", updated_at="2026-05-16", rule_type="testing"),
    ],
    scratchpad="- [x] old\n- [ ] rotate the keys\n",
    contested=[_record("mem_xyz", "Deploys run on Friday", status="contested", confidence=0.88)],
    daily_log="## Session ended\n## Morning\n- moved the release\n",
    sessions=[_session("shop", "fixed the cart"), _session("blog", "  ")],
)
WHOLE = """\
# Persistent Intelligence Context

## Hard Rules
⚠️ AVOID: [conf 0.92] Never edit MEMORY.md
📌 CONVENTION: [conf 0.89] Use bun

## Selected Memory
- mem_abc [L1, conf 0.94] Deploys run on Tuesday
- mem_def [L2, conf 0.90 ⚠️ 45d [testing]] Tests need the proxy

## Scratchpad
- [ ] rotate the keys

## Contested Memory
<!-- Warning: these records have open conflicts. Review before relying on them. -->
⚠️ CONTESTED: [mem_xyz, conf 0.88] Deploys run on Friday

## Daily Log (2026-06-30)
Sessions today: 1
> ### Morning
> - moved the release

## Today's Sessions
- [shop] fixed the cart
"""


def test_whole_block():
    block = build_block(FULL)
    assert block.markdown == WHOLE
    assert block.bytes == len(WHOLE.encode())
    assert (block.hard_rules, block.selected) == (("mem_1", "mem_2"), ("mem_abc", "mem_def"))
    assert (block.contested, block.omitted) == (("mem_xyz",), {})


def test_exactly_enough_bytes():
    size = len(WHOLE.encode())
    assert build_block(FULL, max_bytes=size).markdown == WHOLE
    less = build_block(FULL, max_bytes=size - 1)
    assert less.markdown.endswith("- [shop] fixed the …\n")


@pytest.mark.parametrize("max_bytes", [0, 1, 10, len(TITLE), 50])
def test_no_bare_header(max_bytes):
    block = build_block(FULL, max_bytes=max_bytes)
    assert (block.markdown, block.bytes, block.selected) == ("", 0, ())
    assert sum(block.omitted.values()) == 9


def test_little_room_goes_to_the_first_rule():
    assert build_block(FULL, max_bytes=130).markdown == (
        "# Persistent Intelligence Context\n\n"
        "## Hard Rules\n⚠️ AVOID: [conf 0.92] Never ed…\n… 1 more not shown\n\n"
        "… 7 more not shown\n"
    )


def test_nothing_to_show():
    assert build_block(BlockParts(today=TODAY)).markdown == ""
    only_ticked = BlockParts(
        today=TODAY, scratchpad="- [x] done\nfree text", daily_log=" \n", sessions=[_session("p", "")]
    )
    assert build_block(only_ticked).markdown == ""


def test_negative_budget():
    with pytest.raises(ConfigError, match="max_bytes is -1"):
        build_block(FULL, max_bytes=-1)


def test_later_sections_give_way_first():
    parts = BlockParts(
        today=TODAY,
        hard_rules=[_rule(f"mem_h{i}", "h" * 100) for i in range(3)],
        selected=[_record(f"mem_s{i}", "s" * 100) for i in range(5)],
        scratchpad="- [ ] short\n",
    )
    block = build_block(parts, max_bytes=800)
    assert (block.hard_rules, block.selected) == (("mem_h0", "mem_h1", "mem_h2"), ("mem_s0", "mem_s1"))
    assert block.omitted == {"selected": 3, "scratchpad": 1}
    assert block.markdown.endswith("s\n… 3 more not shown\n\n… 1 more not shown\n")


@pytest.mark.parametrize(
    ("part", "heading", "cap"),
    [
        ("hard_rules", "Hard Rules", 2_000),
        ("selected", "Selected Memory", 6_000),
        ("contested", "Contested Memory", 800),
    ],
)
def test_section_caps_of_records(part, heading, cap):
    records = [_rule(f"mem_{i:03}", "部署" * 20) for i in range(100)]
    block = build_block(BlockParts(today=TODAY, **{part: records}))
    section = block.markdown.removeprefix(TITLE + "\n")
    assert section.startswith(f"## {heading}\n")
    assert cap - 200 < len(section.encode()) <= cap
    assert section.endswith(f"… {block.omitted[part]} more not shown\n")
    assert getattr(block, part) == tuple(record.id for record in records[: 100 - block.omitted[part]])


@pytest.mark.parametrize(
    ("part", "text", "cap"),
    [
        ("scratchpad", "- [ ] todo 部署\n" * 100, 800),
        ("daily_log", "- noted 部署\n" * 500, 3_000),
        ("daily_log", "prose 部署\n" * 500, 3_000),
    ],
)
def test_section_caps_of_notes(part, text, cap):
    block = build_block(BlockParts(today=TODAY, **{part: text}))
    section = block.markdown.removeprefix(TITLE + "\n")
    assert cap - 60 < len(section.encode()) <= cap
    assert f"… {block.omitted[part]} more not shown\n" in section


def test_prose_of_the_day_is_kept_from_its_end():
    log = "## Session ended\n" + "".join(f"word {i}\n" for i in range(1_000))
    section = build_block(BlockParts(today=TODAY, daily_log=log)).markdown.splitlines()[2:]
    assert section[:2] == ["## Daily Log (2026-06-30)", "Sessions today: 1"]
    assert re.fullmatch(r"… \d+ more not shown", section[2])
    assert section[-1] == "> word 999"


def test_shown_as_a_hard_rule_is_not_shown_again():
    rules = [_rule(f"mem_{i}", f"{i} " + "r" * 500) for i in range(5)]
    block = build_block(BlockParts(today=TODAY, hard_rules=rules, selected=rules))
    assert block.hard_rules == ("mem_0", "mem_1", "mem_2")
    assert block.selected == ("mem_3", "mem_4")


def test_the_log_keeps_its_newest_lines():
    log = "## Session ended\n" + "".join(f"- entry {number:04}\n" for number in range(1_000))
    block = build_block(BlockParts(today=TODAY, daily_log=log))
    section = block.markdown.removeprefix(TITLE + "\n").splitlines()
    assert section[:3] == [
        "## Daily Log (2026-06-30)",
        "Sessions today: 1",
        f"… {block.omitted['daily_log']} more not shown",
    ]
    shown = section[3:]
    assert shown == [f"> - entry {number:04}" for number in range(1_000 - len(shown), 1_000)]
    assert 2_900 < block.bytes - len(TITLE) - 1 <= 3_000


def test_three_sessions_at_most():
    sessions = [_session("p", name) for name in ("", "a", "b", "c", "d")]
    block = build_block(BlockParts(today=TODAY, sessions=sessions))
    assert block.markdown.endswith("## Today's Sessions\n- [p] a\n- [p] b\n- [p] c\n")


# --- properties, over text that tries to break out

NASTY = st.text(
    st.sampled_from("ab #\n\r\u2028-=[]`<>!部🚀\u0301\u200d\u202e\ud83d\x00:…") | st.characters(), max_size=80
) | st.sampled_from([*HEADINGS, "\n## Hard Rules\n", TITLE, "a\n---\nb", "x" * 7_000, "é́" * 900])
IDS = st.lists(st.integers(0, 999), unique=True, max_size=14)


@st.composite
def _records(draw, prefix, **fields):
    dates = st.sampled_from(["2026-06-30", "2026-05-01", "2020-01-01", "nonsense", None])
    confidences = st.floats(0, 1)
    return [
        _record(
            f"{prefix}{number}", draw(NASTY), confidence=draw(confidences), updated_at=draw(dates), **fields
        )
        for number in draw(IDS)
    ]


PARTS = st.builds(
    BlockParts,
    today=st.just(TODAY),
    hard_rules=_records("rule", rule_type="avoid_pattern"),
    selected=_records("mem"),
    contested=_records("open", status="contested"),
    scratchpad=st.lists(NASTY.map("- [ ] {}".format)).map("\n".join),
    daily_log=st.lists(NASTY | NASTY.map("- {}".format), max_size=8).map("\n".join),
    sessions=st.lists(st.builds(_session, NASTY, NASTY, st.lists(NASTY, max_size=3)), max_size=5),
)
BUDGETS = st.integers(0, 300) | st.integers(0, 14_000) | st.just(14_000)


@settings(max_examples=150, deadline=None)
@given(PARTS, BUDGETS)
def test_budget_utf8_and_same_again(parts, max_bytes):
    block = build_block(parts, max_bytes=max_bytes)
    assert len(block.markdown.encode()) == block.bytes <= max_bytes
    assert build_block(parts, max_bytes=max_bytes) == block
    if block.omitted and block.markdown:
        assert "more not shown\n" in block.markdown


@settings(max_examples=150, deadline=None)
@given(PARTS, BUDGETS)
def test_every_line_is_ours(parts, max_bytes):
    block = build_block(parts, max_bytes=max_bytes)
    lines = block.markdown.split("\n")
    assert len(lines) == len(block.markdown.splitlines()) + 1
    headings = [line for line in lines if re.match(r"\s*#{1,2}(\s|$)", line)]
    assert headings == [heading for heading in [TITLE.strip(), *HEADINGS] if heading in headings]
    assert not any(re.match(r"\s*(```|~~~|(=+|-+)\s*$)", line) for line in lines)


@settings(max_examples=150, deadline=None)
@given(PARTS, BUDGETS)
def test_reported_ids_are_those_in_the_text(parts, max_bytes):
    block = build_block(parts, max_bytes=max_bytes)
    sections = dict(re.findall(r"^## ([^\n(]+?)(?: \([^\n]*)?\n((?:(?!## )[^\n]+\n)+)", block.markdown, re.M))
    selected = re.findall(r"^- (\S+) \[", sections.get("Selected Memory", ""), re.M)
    contested = re.findall(r"^⚠️ CONTESTED: \[(\S+),", sections.get("Contested Memory", ""), re.M)
    rules = re.findall(r"^⚠️ AVOID: ", sections.get("Hard Rules", ""), re.M)
    assert (tuple(selected), tuple(contested), len(rules)) == (
        block.selected,
        block.contested,
        len(block.hard_rules),
    )
    assert block.omitted.get("selected", 0) == len(parts.selected) - len(selected)
    assert block.omitted.get("contested", 0) == len(parts.contested) - len(contested)
    assert block.omitted.get("hard_rules", 0) == len(parts.hard_rules) - len(rules)


@given(PARTS, BUDGETS)
def test_counted_hard_rules_are_those_shown(parts, max_bytes):
    block = build_block(parts, max_bytes=max_bytes)
    count = count_hard_rules(parts.hard_rules, max_bytes=max_bytes)
    # Room kept to say what was left out can cost a rule at the end of a small page.
    assert len(block.hard_rules) == count or (len(block.hard_rules) < count and block.omitted)
