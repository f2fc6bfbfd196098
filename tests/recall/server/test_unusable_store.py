"""A server whose store is damaged starts, answers from the memory files, says so, and takes it back."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from pi_rank.engine import MemoryEngine
from tests.recall.roots import record
from tests.recall.served import running

PROMPT = {"context": {"latest_user_message": "How do we deploy orchard to production?"}}


@pytest.fixture
def store(memory):
    path = memory / "store.sqlite3"
    with MemoryEngine.open(memory / "root", store=path, model=None) as engine:
        engine.sync()
    return path


def no_head(path):
    data = bytearray(path.read_bytes())
    data[:100] = b"x" * 100
    path.write_bytes(data)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:5000])


def no_state(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM state")


def no_table(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE state")


def another_version(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")


HARMS = [no_head, cut_short, no_state, no_table, another_version]


def append(memory, *fields):
    with (memory / "root" / "memory" / "L2.playbooks.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record(*fields)) + "\n")


def health(server):
    return server.ask("GET", "/health")[2]["status"]


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def rebuild(memory):
    command = [sys.executable, "-m", "pi_rank.cli", "rebuild", "--root", str(memory / "root")]
    command += ["--store", str(memory / "store.sqlite3"), "--model", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def names(server, query):
    return [row["name"] for row in server.recall(query, 20)]


@pytest.mark.parametrize("harm", HARMS)
def test_a_server_starts_on_a_damaged_store_and_takes_it_back(memory, store, harm):
    harm(store)
    before = store.read_bytes()
    with running(memory, "--rate", "0") as server:
        assert health(server) == "degraded"
        assert server.ask("GET", "/status")[2]["status"] == "degraded"
        turn = server.post("/context", PROMPT)[1]
        assert "mem_deploy" in [hit["id"] for hit in turn["selected"]]
        assert "`pi-rank rebuild`" in turn["stats"]["warnings"][0]
        assert names(server, "deploy orchard")[0] == "mem_deploy"
        append(memory, "mem_new", "The xylophone is out of tune.", [])
        until(lambda: "mem_new" in names(server, "xylophone"))
        assert server.post("/remember", {"content": "a giraffe in the cellar"})[0] == 200
        assert "giraffe" in server.recall("giraffe")[0]["snippet"]
        assert store.read_bytes() == before
        rebuild(memory)
        until(lambda: health(server) == "ok")
        turn = server.post("/context", PROMPT)[1]
        assert "mem_deploy" in [hit["id"] for hit in turn["selected"]]
        assert turn["stats"]["warnings"] == []
        assert "mem_new" in names(server, "xylophone")
        assert "giraffe" in server.recall("giraffe")[0]["snippet"]
        said = server.stop()
    assert said.count("answered from the memory files, by words alone") == 1
    assert "memory and its store can be read again" in said
    assert "Traceback" not in said


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be replaced on Windows")
def test_damage_and_rebuild_while_it_serves(memory, store):
    with running(memory, "--rate", "0") as server:
        assert health(server) == "ok"
        no_state(store)
        until(lambda: health(server) == "degraded")
        append(memory, "mem_new", "The xylophone is out of tune.", [])
        until(lambda: "mem_new" in names(server, "xylophone"))
        rebuild(memory)
        until(lambda: health(server) == "ok")
        assert "mem_new" in names(server, "xylophone")
        assert "Traceback" not in server.stop()


@pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")
def test_a_server_starts_while_another_process_holds_the_store(memory, store):
    append(memory, "mem_new", "The xylophone is out of tune.", [])
    with closing(sqlite3.connect(store, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with running(memory, "--rate", "0") as server:
            assert health(server) == "degraded"
            assert names(server, "deploy orchard")[0] == "mem_deploy"
            holder.execute("ROLLBACK")
            until(lambda: health(server) == "ok")
            assert "mem_new" in names(server, "xylophone")
            assert "Answered from what the store held before" in server.stop()
