"""Engines on memory in other forms, ranked by words, in a home folder of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager

from pi_rank import MemoryEngine, SessionContext
from pi_rank.sources.registry import parse_spec

LONG_AGO = 1_780_000_000


def write(path, text):
    """A file that has been quiet for long, so that its size and time are enough to know it by."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@contextmanager
def engine_of(home, *sources):
    """An engine on these sources alone, synced; each is written as on a command line."""
    specs = [parse_spec(source, home) for source in sources]
    with MemoryEngine.open(home / "no-root", sources=specs, model=None) as engine:
        engine.sync()
        yield engine


@contextmanager
def configured(home, *entries, records=()):
    """An engine on a root whose config.json names these sources."""
    from tests.support.memory import write_root

    root = write_root(home / ".pi/agent/pi-memory", records, config={"sources": list(entries)})
    for path in root.rglob("*.json*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    with MemoryEngine.open(root, model=None) as engine:
        yield engine


def statements(engine):
    """What all active records say."""
    return sorted(sourced.record.statement for sourced in engine._root.read().records)


def ask(engine, prompt, folder=None, **fields):
    turn = SessionContext(
        latest_user_message=prompt, working_directory=None if folder is None else str(folder), **fields
    )
    return engine.build_retrieval_context(turn)


def shown(result):
    return [hit.record.statement for hit in result.selected]


def left_out(result):
    """Record id → why."""
    return {id_: why for trace in result.traces for id_, why in trace.exclusion_reasons.items()}


def repository(folder):
    (folder / ".git").mkdir(parents=True)
    return folder


def answered(process: subprocess.CompletedProcess[str]):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
