"""The refresher: what it notices, and what it does where memory cannot be read."""

from __future__ import annotations

import json
import os
import time

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.errors import MemoryRootError
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.server import refresh
from pi_rank.recall.server.refresh import Refresher, files_signature
from pi_rank.store.store import MemoryStore
from tests.recall.roots import record


@pytest.fixture
def engine(memory):
    opened = open_noted(memory / "root", memory / "store.sqlite3", HashingEmbedder(64))
    with opened:
        yield opened


def append(memory, *fields):
    with (memory / "root" / "memory" / "L2.playbooks.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record(*fields)) + "\n")


def test_records_are_there_at_once_and_their_vectors_soon(engine):
    refresher = Refresher(engine)
    refresher.start()
    assert engine.recall("deploy orchard", 1, None)[0].id == "mem_deploy"
    assert engine.status()["vectors"] == 0
    refresher.check()
    assert engine.status()["vectors"] == engine.status()["records"]


def test_a_changed_file_is_read_and_a_quiet_one_is_not(engine, memory, monkeypatch):
    refresher = Refresher(engine)
    refresher.start()
    refresher.check()
    append(memory, "mem_new", "The xylophone is out of tune.", [])
    refresher.check()
    assert engine.recall("xylophone", 1, None)[0].id == "mem_new"
    monkeypatch.setattr(engine, "catch_up", lambda **_: pytest.fail("nothing had changed"))
    refresher.check()
    assert not refresher.failing


def test_a_file_is_looked_into_again_once_its_clock_has_moved_on(engine, memory, monkeypatch):
    monkeypatch.setattr(refresh, "SETTLE_SECONDS", 0.3)
    refresher = Refresher(engine)
    refresher.start()
    refresher.check()
    file = memory / "root" / "memory" / "L2.playbooks.jsonl"
    append(memory, "mem_new", "The xylophone is out of tune.", [])
    refresher.check()
    state = file.stat()
    file.write_bytes(file.read_bytes().replace(b"xylophone", b"harmonica"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert files_signature(memory / "root")[0][1:3] == (state.st_mtime_ns, state.st_size)
    time.sleep(0.35)
    refresher.check()
    assert engine.recall("harmonica", 1, None)[0].id == "mem_new"


def test_what_another_process_syncs_is_seen(engine, memory):
    refresher = Refresher(engine)
    refresher.start()
    refresher.check()
    append(memory, "mem_new", "The xylophone is out of tune.", [])
    with MemoryStore.open(memory / "store.sqlite3") as other:
        other.sync(MemoryRoot(memory / "root").read(), FtsAnalyzer())
    refresher._seen = files_signature(memory / "root")
    refresher.check()
    assert engine.recall("xylophone", 1, None)[0].id == "mem_new"


def test_memory_that_cannot_be_read(engine, memory, caplog):
    refresher = Refresher(engine)
    refresher.start()
    (memory / "root").rename(memory / "gone")
    for _ in range(3):
        refresher.check()
    assert refresher.failing
    assert caplog.text.count("what was read last is still served") == 1
    assert engine.recall("deploy orchard", 1, None)[0].id == "mem_deploy"
    (memory / "gone").rename(memory / "root")
    refresher.check()
    assert not refresher.failing


def test_a_root_that_is_not_there_at_the_start(engine, memory):
    (memory / "root").rename(memory / "gone")
    with pytest.raises(MemoryRootError):
        Refresher(engine).start()
