"""Turns are answered while the store is held, full, damaged or of another version, and say so."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from pi_rank import MemoryEngine, SessionContext, StoreError, build_retrieval_context
from pi_rank.store.holders import holder_of
from pi_rank.store.schema import BusyStoreError, ForeignFileError
from tests.support.memory import write_root

PROMPT = "how do we deploy on tuesday?"
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2].split(";"):
    connection.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""


def records(word):
    return [{"id": f"mem_{number}", "statement": f"{word} deploy on tuesday {number}"} for number in range(4)]


@pytest.fixture
def root(tmp_path):
    return write_root(tmp_path / "root", records("old"), tombstones=["mem_3"])


@pytest.fixture
def path(tmp_path, root):
    path = tmp_path / "store.sqlite3"
    with MemoryEngine.open(root, store=path, model=None) as engine:
        engine.sync()
    return path


@pytest.fixture
def held(path):
    """Another process that holds the store until the test is over."""
    command = [sys.executable, "-c", HOLD, str(path), "BEGIN IMMEDIATE"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    yield holder
    holder.communicate("")


def ask(engine):
    return engine.build_retrieval_context(SessionContext(latest_user_message=PROMPT))


def shown(result):
    return {hit.record.statement.split()[0] for hit in result.selected}


def test_a_turn_answers_from_the_last_generation_within_its_deadline(root, path, held):
    write_root(root, records("new"), tombstones=["mem_3"])
    with MemoryEngine.open(root, store=path, model=None) as engine:
        began = time.monotonic()
        report = engine.catch_up(deadline_ms=200)
        result = ask(engine)
        assert time.monotonic() - began < 5
        assert shown(result) == {"old"}
        (said,) = result.stats["warnings"]
        assert said == report.warnings[0]
        assert "has been in use by " in said
        assert "Answered from what the store held before" in said
        held.communicate("")
        engine.catch_up()
        result = ask(engine)
        assert (shown(result), result.stats["warnings"]) == ({"new"}, [])


def test_who_waits_longer_than_half_a_second_is_told_for_whom(root, path, held):
    write_root(root, records("new"), tombstones=["mem_3"])
    with MemoryEngine.open(root, store=path, model=None) as engine:
        with pytest.warns(RuntimeWarning, match="waiting for .*, which holds the store"):
            engine.catch_up(deadline_ms=900)
        with pytest.raises(BusyStoreError):
            engine._store.sync_root(engine._root, engine._analyzer, patience=0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells who holds a lock on Linux only")
def test_the_holder_is_named(path, held):
    assert holder_of(path).startswith(f"process {held.pid} (python")
    held.communicate("")
    assert holder_of(path) == "another process"


def test_a_store_that_another_process_is_filling_for_the_first_time(tmp_path, root):
    path = tmp_path / "new.sqlite3"
    with MemoryEngine.open(root, store=path, model=None) as engine:
        command = [sys.executable, "-c", HOLD, str(path), "BEGIN IMMEDIATE"]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "held\n"
        try:
            engine.catch_up(deadline_ms=100)
            result = ask(engine)
        finally:
            holder.communicate("")
        assert len(result.selected) == 3
        assert "answered from the memory files" in result.stats["warnings"][0]


def truncated(path):
    path.write_bytes(path.read_bytes()[:5000])


def of_another_version(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")


def without_a_state(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM state")


@pytest.mark.parametrize("harm", [truncated, of_another_version, without_a_state])
def test_a_damaged_store_does_not_stop_turns(root, path, harm):
    harm(path)
    before = path.read_bytes()
    write_root(root, records("new"), tombstones=["mem_3"])
    with MemoryEngine.open(root, store=path, model=None) as engine:
        engine.catch_up()
        result = ask(engine)
        assert shown(result) == {"new"}
        assert "mem_3" not in {hit.id for hit in result.selected}
        assert "`pi-rank rebuild`" in result.stats["warnings"][0]
        assert "answered from the memory files" in result.stats["warnings"][0]
        assert engine.store_path == path
        with pytest.raises(StoreError, match="pi-rank rebuild"):
            engine.sync()
        assert path.read_bytes() == before
        engine.rebuild()
        result = ask(engine)
        assert (shown(result), result.stats["warnings"]) == ({"new"}, [])
    with MemoryEngine.open(root, store=path, model=None) as engine:
        assert engine.sync().unchanged == 4


def test_damage_that_comes_while_turns_are_answered(root, path):
    with MemoryEngine.open(root, store=path, model=None) as engine:
        without_a_state(path)
        result = ask(engine)
        assert shown(result) == {"old"}
        assert "answered from the memory files" in result.stats["warnings"][0]


def test_one_call_answers_too(root, path):
    truncated(path)
    result = build_retrieval_context(root, PROMPT, working_directory=root, store=path, model=None)
    assert shown(result) == {"old"}


def test_what_is_not_ours_is_no_reason_to_answer(tmp_path, root):
    text = tmp_path / "notes.txt"
    text.write_text("mine\n" * 500, encoding="utf-8")
    with pytest.raises(ForeignFileError):
        MemoryEngine.open(root, store=text, model=None)


def test_a_damaged_record_is_left_out_and_said(root, path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE records SET payload = x'7b7d' WHERE id = 'mem_1'")
    with MemoryEngine.open(root, store=path, model=None) as engine:
        engine.catch_up()
        result = ask(engine)
        assert {hit.id for hit in result.selected} == {"mem_0", "mem_2"}
        assert result.stats["warnings"][0].startswith("1 records of the store are damaged and left out")


def test_every_turn_says_what_cannot_be_read(root, path):
    (root / "memory" / "tombstones.jsonl").unlink()
    (root / "memory" / "tombstones.jsonl").mkdir()
    with MemoryEngine.open(root, store=path, model=None) as engine:
        engine.catch_up()
        for _ in range(2):
            assert "tombstones.jsonl cannot be read" in ask(engine).stats["warnings"][0]
    with MemoryEngine.open(root, store=path, model=None) as engine:  # without a sync of its own
        assert "tombstones.jsonl cannot be read" in ask(engine).stats["warnings"][0]
    (root / "memory" / "tombstones.jsonl").rmdir()
    with MemoryEngine.open(root, store=path, model=None) as engine:
        engine.catch_up()
        assert ask(engine).stats["warnings"] == []
