"""A store that is put back as it was: nothing that was derived from the lost time is believed any more."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from pi_rank import MemoryEngine, StoreError
from pi_rank.memory.root import MemoryRoot
from pi_rank.snapshot import saved as saved_snapshot
from pi_rank.snapshot.snapshot import load_snapshot, refresh_snapshot
from pi_rank.store import rows
from pi_rank.store.store import MemoryStore
from tests.support.memory import write_root
from tests.support.memory_files import L2, CountingAnalyzer, line, write

ANALYZER = CountingAnalyzer()


def backup(path):
    """The store's file as it is now, whole."""
    copy = path.with_name("backup")
    with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect(copy)) as target:
        connection.backup(target)
    return copy


def put_back(copy, path):
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, path)


def records(word, count=60):
    return [{"id": f"mem_{number}", "statement": f"{word} number {number}"} for number in range(count)]


@pytest.fixture
def kept_files(monkeypatch):
    """However few records there are, the snapshot is kept in a file."""
    monkeypatch.setattr(saved_snapshot, "MIN_ROWS", 0)


@pytest.mark.parametrize("synced_by", ["engine", "store alone"])
def test_a_restored_backup_does_not_meet_the_snapshot_of_the_lost_time(tmp_path, kept_files, synced_by):
    path = tmp_path / "store.sqlite3"

    def engine_on(words):
        root = write_root(tmp_path / "root", words)
        return MemoryEngine.open(root, store=path, model=None)

    with engine_on(records("first")) as engine:
        engine.sync()
    copy = backup(path)
    with engine_on(records("lost")) as engine:
        assert engine.sync().generation == 2
    assert path.with_name("store.sqlite3.snapshot").exists()
    put_back(copy, path)
    found_now = [*records("found", 59), {"id": "mem_59", "statement": "deleted since", "status": "deleted"}]
    root = write_root(tmp_path / "root", found_now)
    if synced_by == "store alone":  # as `qmd update` does
        with MemoryStore.open(path) as store:
            assert store.sync_root(MemoryRoot(root), ANALYZER).generation == 2
    for _ in range(2):
        with MemoryEngine.open(root, store=path, model=None) as engine:
            assert engine.sync().generation == 2
            said = [hit.record.statement.split()[0] for hit in engine.search("number", k=100)]
            assert said == ["found"] * 59
            assert engine.search("lost", k=100) == []
            assert engine.record_statuses(["mem_59"]) == {"mem_59": "deleted"}


def test_a_reader_that_saw_the_lost_time_reads_everything_again(tmp_path):
    path, root = tmp_path / "store.sqlite3", tmp_path / "root"
    with MemoryStore.open(path) as store:
        write(root, L2, line("mem_a", statement="first"))
        store.sync_root(MemoryRoot(root), ANALYZER)
    copy = backup(path)
    with MemoryStore.open(path) as store:
        write(root, L2, line("mem_a", statement="lost"))
        store.sync_root(MemoryRoot(root), ANALYZER)
        snapshot = load_snapshot(store, None)
    put_back(copy, path)
    with MemoryStore.open(path) as store:
        write(root, L2, line("mem_a", statement="found"))
        store.sync_root(MemoryRoot(root), ANALYZER)
        assert store.version()[:2] == snapshot.version[:2]
        assert store.version() != snapshot.version
        again = refresh_snapshot(snapshot, store, None)
    assert [again.record(row).statement for row in again.order] == ["found"]


def test_vectors_of_the_lost_time_are_not_taken_for_those_that_came_since(tmp_path):
    path, root = tmp_path / "store.sqlite3", tmp_path / "root"
    write(root, L2, line("mem_a", statement="one"), line("mem_b", statement="two"))
    with MemoryStore.open(path) as store:
        store.sync_root(MemoryRoot(root), ANALYZER)
        hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
    copy = backup(path)
    one, two = np.eye(2, dtype=np.float32)
    with MemoryStore.open(path) as store:
        store.put_vectors("m", hashes[:1], one[None])
        snapshot = load_snapshot(store, "m")
    put_back(copy, path)
    with MemoryStore.open(path) as store:
        store.put_vectors("m", hashes[1:], two[None])  # the same number as the lost one
        assert store.version()[:2] == snapshot.version[:2]
        again = refresh_snapshot(snapshot, store, "m")
        assert again.text_node.tolist() == load_snapshot(store, "m").text_node.tolist()
        assert again.vectors.vectors(0, 1).tolist() == [two.tolist()]


def test_marks_are_kept_for_a_while_and_readers_from_before_read_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MOST_MARKS", 3)
    root, seen = tmp_path / "root", []
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        for number in range(6):
            write(root, L2, line("mem_a", statement=f"version {number}"))
            store.sync_root(MemoryRoot(root), ANALYZER)
            seen.append(store.version())
        assert [store.rows(since=version).complete for version in seen] == [True] * 3 + [False] * 3
        assert len({version.mark for version in seen}) == 6


def test_a_state_that_contradicts_itself_is_damage(tmp_path):
    path, root = tmp_path / "store.sqlite3", tmp_path / "root"
    for statement in ("generation = 99", "generation = -5", "mark = x'00'", "complete_from = 99"):
        path.unlink(missing_ok=True)
        with MemoryStore.open(path) as store:
            write(root, L2, line("mem_a"))
            store.sync_root(MemoryRoot(root), ANALYZER)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE state SET {statement}")
        with (
            MemoryStore.open(path) as store,
            pytest.raises(StoreError, match=r"is damaged .*pi-rank rebuild"),
        ):
            store.rows()
