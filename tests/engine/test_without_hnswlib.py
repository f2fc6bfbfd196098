"""A machine without hnswlib, which has no wheels: everything works, by exact scans, and says so once."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pi_rank
from pi_rank import MemoryEngine, SessionContext
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.snapshot import graph_keeper
from pi_rank.snapshot.keeper import LONG_LIVED
from tests.support.graphs import needs_hnswlib
from tests.support.memory import write_root
from tests.support.snapshots import EMBEDDER, WORDS

SAMPLE = Path(pi_rank.__file__).parent / "sample"
RECORDS = [{"id": f"mem_{n}", "statement": f"{WORDS[n % len(WORDS)]} {n}"} for n in range(60)]
MISSING = "hnswlib is not installed, the exact scan serves (pip install 'pi-rank[hnsw]')"


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """An engine on a memory so large that a graph would pay."""
    monkeypatch.setattr(VectorIndex, "wants_graph", property(lambda self: self.graph is None))
    write_root(tmp_path / "root", RECORDS)
    with MemoryEngine.open(tmp_path / "root", store=tmp_path / "store.sqlite3", model=EMBEDDER) as opened:
        opened.sync()
        yield opened


@pytest.fixture
def no_hnswlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "hnswlib", None)


def ask(engine, times=LONG_LIVED * 2):
    """What each of several turns finds, once nothing runs in the background any more."""
    turn = SessionContext(latest_user_message=f"what of {WORDS[0]} and {WORDS[1]}?")
    answers = [[hit.id for hit in engine.build_retrieval_context(turn).selected] for _ in range(times)]
    while any(thread.name.startswith("pi-rank-graph") for thread in threading.enumerate()):
        time.sleep(0.01)
    return answers


def test_a_large_memory_is_scanned_and_it_is_said_once(engine, no_hnswlib, caplog, tmp_path):
    caplog.set_level(logging.INFO, "pi_rank")
    answers = ask(engine)
    assert answers[0]
    write_root(tmp_path / "root", [*RECORDS, {"id": "mem_new", "statement": f"{WORDS[0]} anew"}])
    engine.sync()
    ask(engine)
    assert [record.getMessage() for record in caplog.records if "hnswlib" in record.getMessage()] == [
        f"no graph: {MISSING}"
    ]
    assert not list(tmp_path.glob("*.graph"))
    assert engine.status()["graph"] == f"none: {MISSING}"


@needs_hnswlib
def test_a_graph_that_was_built_elsewhere_is_used(engine, monkeypatch, tmp_path):
    assert engine.status()["graph"] == "none yet"
    with_graph = ask(engine)
    assert list(tmp_path.glob("*.graph"))
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    monkeypatch.setattr(graph_keeper, "GraphBuilder", lambda *_: pytest.fail("a graph was built"))
    with MemoryEngine.open(tmp_path / "root", store=tmp_path / "store.sqlite3", model=EMBEDDER) as second:
        assert ask(second)[-1] == with_graph[-1]
        assert second.status()["graph"] == f"of {len(RECORDS)} of {len(RECORDS)} vectors"
        assert second._keeper.current(EMBEDDER.model_id).vectors.graph is not None


def test_a_broken_hnswlib_costs_no_turn(engine, monkeypatch, tmp_path, caplog):
    (tmp_path / "hnswlib.py").write_text("raise ImportError('undefined symbol')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hnswlib", raising=False)
    assert ask(engine)[-1]
    engine.close()
    assert "building the graph failed" in caplog.text
    assert "undefined symbol" in caplog.text


def test_the_commands(tmp_path):
    def run(*argv):
        code = "import sys; sys.modules['hnswlib'] = None; from pi_rank.cli import main; sys.exit(main())"
        ended = subprocess.run(
            [sys.executable, "-c", code, *argv, "--root", str(SAMPLE), "--store", str(tmp_path / "store")],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ended.returncode == 0, ended.stderr
        assert "hnswlib" not in ended.stderr
        return ended.stdout

    assert "90 added" in run("sync")
    assert "Hard Rules" in run("context", "Can I deploy orchard on a Friday?")
    assert "mem_" in run("search", "deploy")
    assert "the exact scan is cheaper" in run("status")
    doctor = run("doctor")
    assert "note  hnswlib: not installed" in doctor
    assert "what to do: pip install 'pi-rank[hnsw]' (needs a C++ compiler)" in doctor
    assert doctor.endswith("Everything is in order.\n")
