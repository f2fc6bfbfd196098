"""What a turn reads besides records and cannot: its last state counts, and each turn says so."""

from __future__ import annotations

import json
import os
from datetime import date

import pytest

from pi_rank import MemoryEngine, SessionContext
from pi_rank.cli.program import main
from pi_rank.memory import config_file
from tests.support.memory import write_root

TODAY = date(2026, 6, 30)
TURN = SessionContext(latest_user_message="How do we deploy orchard, and why?")
SECRET = "deploy orchard private detail"
SHUT = {"retrieval": {"injectionMode": "policy_only"}}


@pytest.fixture
def root(tmp_path):
    return write_root(tmp_path / "root", [{"id": "mem_1", "statement": SECRET}], config=SHUT)


@pytest.fixture
def context(root, tmp_path, capsys):
    """`pi-rank context`: exit code, stdout and stderr."""

    def ask(*options):
        given = ["--root", str(root), "--store", str(tmp_path / "store.sqlite3"), "--model", "none"]
        code = main(["context", TURN.latest_user_message, *given, "--today", str(TODAY), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ask


@pytest.mark.parametrize(
    "config",
    [
        json.dumps(SHUT)[:-1] + ",}",
        '{"retrieval": {"injectionMode": "policy-only"}}',
        '{"retrieval": {"injectionMode": "policy_on',
        "",
    ],
)
def test_a_slip_in_the_config_shows_nothing_and_is_said(root, context, config):
    (root / "config.json").write_text(config)
    code, out, err = context()
    assert code == 0
    assert SECRET not in out
    assert "pi-rank: warning: config.json" in err


def test_the_last_state_is_found_by_the_next_command_and_after_a_rebuild(root, context, tmp_path):
    (root / "config.json").write_text('{"retrieval": {"maxRecords": 5}}')
    assert SECRET in context()[1]
    (root / "config.json").write_text("{torn")
    code, out, err = context()
    assert (code, SECRET in out) == (0, True)
    assert "what it last said is used" in err
    given = ["--root", str(root), "--store", str(tmp_path / "store.sqlite3"), "--model", "none"]
    assert main(["rebuild", *given]) == 0
    assert "what it last said is used" in context()[2]


def test_every_turn_names_what_could_not_be_read(root, tmp_path, monkeypatch):
    monkeypatch.setattr(config_file, "RETRY_SECONDS", 0.001)
    for name in ("config.json", "scratchpad.md", "daily/2026-06-30.md", "sessions/session-index.jsonl"):
        path = root / name
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        engine.sync()
        turns = [
            engine.build_retrieval_context(TURN, today=TODAY),
            *engine.retrieve_batch([TURN, TURN], today=TODAY),
            engine.build_retrieval_context(SessionContext(latest_user_message="ok"), today=TODAY),
        ]
    for turn in turns:
        assert [warning.split(" ")[0] for warning in turn.stats["warnings"]] == [
            "config.json",
            "sessions/session-index.jsonl",
            "scratchpad.md",
            "daily/2026-06-30.md",
        ]
        assert SECRET not in turn.markdown


def test_a_turn_with_nothing_to_warn_of_says_so(root, tmp_path):
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        engine.sync()
        assert engine.build_retrieval_context(TURN, today=TODAY).stats["warnings"] == []


@pytest.mark.parametrize("name", ["daily/2026-06-30.md", "scratchpad.md", "sessions/session-index.jsonl"])
def test_a_file_longer_than_memory_is_named_and_left_out(root, context, name):
    path = root / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(40 << 30)
    code, _, err = context()
    assert code == 0
    assert f"pi-rank: warning: {name} cannot be read (has 42,949,672,960 bytes" in err


@pytest.mark.parametrize("name", ["memory/L1.identity.jsonl", "memory/projects/web.jsonl"])
def test_a_memory_file_longer_than_memory_is_named_and_the_rest_is_used(root, context, name):
    (root / "config.json").unlink()
    path = root / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(40 << 30)
    code, out, err = context()
    assert (code, SECRET in out) == (0, True)
    assert f"{name} cannot be read (has 42,949,672,960 bytes" in err


def test_one_odd_file_name_costs_itself_only(root, tmp_path):
    web = root / "memory/projects/web.jsonl"
    web.parent.mkdir()
    record = {"id": "mem_web", "statement": "web deploy record", "status": "active", "confidence": 0.9}
    web.write_text(json.dumps(record) + "\n")
    try:
        (root / "memory/projects" / os.fsdecode(b"\xff.jsonl")).write_text("")
    except OSError:
        pytest.skip("this file system only takes Unicode names")
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        report = engine.sync()
        assert report.added == 2
        assert report.warnings == (
            "memory/projects/'\\udcff.jsonl' is not read: its name is not Unicode; rename it",
        )
        web.write_text(json.dumps(record | {"status": "deleted"}) + "\n")
        engine.sync()
        assert engine.record_statuses(["mem_web"]) == {"mem_web": "deleted"}
        web.unlink()
        assert engine.sync().removed == 1
        assert engine.sync().warnings == report.warnings
