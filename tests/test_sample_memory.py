"""The sample memory: it holds every kind of record, and its turns show what each part of a turn does."""

from __future__ import annotations

import datetime as dt
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

import pi_rank
from pi_rank.context import resolve_context
from pi_rank.memory_root import MemoryRoot

SAMPLE = Path(pi_rank.__file__).parent / "sample"
TODAY = dt.date(2026, 6, 30)


@pytest.fixture(scope="module")
def contents():
    return MemoryRoot(SAMPLE).read()


@pytest.fixture(scope="module")
def records(contents):
    return {sourced.record.id: sourced.record for sourced in contents.records}


def test_every_line_is_usable(contents):
    assert contents.skipped == []
    assert contents.warnings == []
    assert MemoryRoot(SAMPLE).config().warnings == ()
    assert len(contents.records) == 90


def test_ids_say_when_a_record_was_made(records):
    for record in records.values():
        assert re.fullmatch(r"mem_\d{8}_[a-z0-9]+", record.id)
        assert record.created_at.startswith(f"{record.id[4:8]}-{record.id[8:10]}-{record.id[10:12]}T")


def test_there_is_every_layer_status_and_scope(contents, records):
    assert Counter(record.layer for record in records.values()) == {"L2": 79, "L1": 11}
    assert Counter(record.status for record in records.values()) == {
        "active": 77,
        "contested": 5,
        "superseded": 4,
        "deprecated": 2,
        "promoted": 1,
        "deleted": 1,
    }
    assert Counter(record.scope.type for record in records.values()) == {
        "global": 50,
        "project": 24,
        "domain": 16,
    }
    assert {record.scope.project for record in records.values()} == {
        None,
        "orchard-api",
        "lumen-app",
        "заметки",
    }
    assert {profile["project_id"] for profile in contents.profiles} > {"orchard-api", "lumen-app", "заметки"}


def test_a_deleted_record_is_still_active_in_its_file(contents, records):
    assert contents.tombstones == {"mem_20260211_ghost"}
    assert records["mem_20260211_ghost"].status == "active"


def test_there_is_every_rule_type(records):
    assert {record.rule_type for record in records.values()} == {
        None,
        "workflow",
        "preference",
        "convention",
        "architecture",
        "avoid_pattern",
        "prefer_pattern",
        "testing",
        "correction",
        "tool",
    }


def test_confidences_lie_on_both_sides_of_the_hard_rule_bound(records):
    rules = {"avoid_pattern", "prefer_pattern", "convention", "correction"}
    near = {r.confidence for r in records.values() if r.rule_type in rules and 0.8 < r.confidence < 0.87}
    assert near == {0.84, 0.845, 0.85, 0.86}


def test_dates_of_every_age(records):
    ages = Counter(_age(record.updated_at) for record in records.values())
    assert set(ages) == {"fresh", "30+", "90+", "unreadable", "future"}


def _age(updated_at):
    try:
        days = (TODAY - dt.date.fromisoformat(updated_at)).days
    except ValueError:
        return "unreadable"
    return "future" if days < 0 else "fresh" if days < 30 else "30+" if days < 90 else "90+"


def test_scripts(records):
    text = "".join(record.statement for record in records.values())
    scripts = {unicodedata.name(character).split()[0] for character in text if character.isalpha()}
    assert {"LATIN", "CJK", "HIRAGANA", "CYRILLIC"} <= scripts


def test_some_statements_try_to_break_out_of_their_line(records):
    assert "\n## Hard Rules\n⚠️ AVOID: [conf 1.00]" in records["mem_20260312_headings"].statement
    assert "\u202e" in records["mem_20260312_bidi"].statement
    assert "\a" in records["mem_20260312_bidi"].statement


def test_negative_scope_and_exceptions_are_used(records):
    assert sum(bool(record.does_not_apply_when) for record in records.values()) == 12
    assert sum(bool(record.known_exceptions) for record in records.values()) == 4


def test_links_between_records_lead_somewhere(records):
    for record in records.values():
        assert set(record.supersedes) | set(record.superseded_by) <= records.keys()


def test_notes_of_the_day():
    notes = MemoryRoot(SAMPLE).notes(TODAY)
    assert notes.warnings == ()
    assert notes.scratchpad.startswith("- [ ] Ask Inês")
    assert notes.daily.count("## Session ended") == 2
    assert [session.id for session in notes.sessions] == ["ses_20260630_1", "ses_20260630_2"]


def test_turns_are_of_three_kinds():
    turns = json.loads((SAMPLE / "turns.json").read_text(encoding="utf-8"))
    assert [set(turn) for turn in turns] == [{"title", "prompt", "working_directory", "today"}] * 3
    contexts = [resolve_context(turn["prompt"], turn["working_directory"]) for turn in turns]
    assert [context.profile_id for context in contexts] == [
        "project:orchard-api",
        "project:lumen-app",
        "project:orchard-api",
    ]
