"""A record that went is in no file of ours any more: soon, and once the engine that took it out is closed."""

from __future__ import annotations

import threading
import time

import pytest

from pi_rank import MemoryEngine
from pi_rank.memory.records import embedded_text
from pi_rank.snapshot import keeper
from pi_rank.snapshot import saved as saved_snapshot
from tests.support.memory import write_root
from tests.support.snapshots import EMBEDDER

SECRET = b"SECRETSTATEMENT"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Opens an engine on records; their snapshot is kept in a file, however few they are."""
    monkeypatch.setattr(saved_snapshot, "MIN_ROWS", 0)

    def on(records, tombstones=()):
        root = write_root(tmp_path / "root", records, tombstones=tombstones)
        return MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=EMBEDDER)

    return on


def holding(folder):
    """The files that hold the text, or the stem of one of its words."""
    return sorted(
        path.name
        for path in folder.glob("store*")
        if SECRET in (data := path.read_bytes()) or b"zebrafish" in data
    )


RECORDS = [{"id": f"mem_{n}", "statement": f"number {n} of many"} for n in range(200)]
SECRETS = [*RECORDS, {"id": "mem_x", "statement": f"{SECRET.decode()} of zebrafish, deleted", "tags": ["x"]}]


@pytest.mark.parametrize(
    "instead", [[], [{"id": "mem_x", "statement": "something else"}]], ids=["gone", "changed"]
)
def test_a_deleted_text_is_in_no_file_of_ours(tmp_path, opened, instead):
    with opened(SECRETS) as engine:
        engine.sync()
    assert holding(tmp_path) == ["store.sqlite3", "store.sqlite3.snapshot"]
    with opened(RECORDS + instead) as engine:
        engine.sync()
        assert len(engine.search("number", k=300, mode="lexical")) == 200
    assert holding(tmp_path) == []
    with opened(RECORDS + instead) as engine:
        assert engine.sync().unchanged == 200 + len(instead)
        assert len(engine.search("number", k=300, mode="lexical")) == 200
        assert engine.status()["rebuilt"] == []


def test_a_deleted_texts_vector_is_in_no_file_of_ours(tmp_path, opened):
    with opened(SECRETS) as engine:
        engine.sync()
        (hit,) = engine.search("mem_x", k=1)
    vector = EMBEDDER.embed_query(embedded_text(hit.record)).tobytes()
    with opened(SECRETS) as engine:
        engine.sync()
    assert all(
        vector in (tmp_path / name).read_bytes() for name in ("store.sqlite3", "store.sqlite3.snapshot")
    )
    with opened(RECORDS) as engine:
        engine.sync()
    assert not any(vector in path.read_bytes() for path in tmp_path.glob("store*"))


def test_a_deleted_text_goes_while_the_engine_lives_on(tmp_path, opened, monkeypatch):
    monkeypatch.setattr(keeper, "FORGET_SECONDS", 0.05)
    with opened(SECRETS) as engine:
        engine.sync()
    with opened(RECORDS) as engine:
        engine.sync()
        deadline = time.monotonic() + 20
        while holding(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        write_root(tmp_path / "root", SECRETS)  # and comes again, and goes again
        engine.sync()
        engine.search("number")
        write_root(tmp_path / "root", RECORDS)
        engine.sync()
        while holding(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_an_engine_that_closes_does_not_wait_for_the_moment_of_forgetting(tmp_path, opened, monkeypatch):
    monkeypatch.setattr(keeper, "FORGET_SECONDS", 3600.0)
    with opened(SECRETS) as engine:
        engine.sync()
    with opened(RECORDS) as engine:
        engine.sync()
        names = [thread.name for thread in threading.enumerate()]
        assert "pi-rank-forget" in names
    assert holding(tmp_path) == []
    assert "pi-rank-forget" not in [thread.name for thread in threading.enumerate()]


def test_a_killed_engines_leavings_go_with_the_next(tmp_path, opened):
    with opened(SECRETS) as engine:
        engine.sync()
    engine = opened(RECORDS)
    engine.sync()
    engine._keeper._writes = False  # it ends without closing
    engine.close()
    assert holding(tmp_path) == ["store.sqlite3", "store.sqlite3.snapshot"]  # the words, and all of it
    with opened(RECORDS) as engine:
        engine.sync()
        engine.search("number")
    assert holding(tmp_path) == []


def test_a_small_store_which_has_no_snapshot_keeps_no_words_either(tmp_path):
    def synced(records):
        root = write_root(tmp_path / "root", records)
        with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
            engine.sync()

    synced(SECRETS)
    assert holding(tmp_path) == ["store.sqlite3"]
    synced(RECORDS)
    assert holding(tmp_path) == []
