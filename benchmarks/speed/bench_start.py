"""What does memory cost before the first turn: starting cold, syncing, taking in one line, and bytes?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.speed.common import SIZES, TODAY, current_snapshot, memory_root
from pi_rank import MemoryEngine, SessionContext
from pi_rank.snapshot.snapshot import refresh_snapshot

if TYPE_CHECKING:
    from pathlib import Path

REPEATS = 3
CHANGES = 5

# One process: import, open, first turn (the snapshot is built in it), second turn, and resident memory.
FIRST_TURN = """
import json, sys, time
start = time.perf_counter()
import psutil
from pi_rank import MemoryEngine, SessionContext
imported = time.perf_counter()
process = psutil.Process()
before = process.memory_info().rss
turn = SessionContext(latest_user_message="how do we run the tests before a release")
with MemoryEngine.open(sys.argv[1], store=sys.argv[2], model=None) as engine:
    opened = time.perf_counter()
    engine.build_retrieval_context(turn)
    first = time.perf_counter()
    engine.build_retrieval_context(turn)
    second = time.perf_counter()
    spans = {"import_ms": imported - start, "open_ms": opened - imported, "first_turn_ms": first - opened,
             "second_turn_ms": second - first}
    print(json.dumps({name: span * 1000 for name, span in spans.items()} |
                     {"resident_mb": (process.memory_info().rss - before) / 1e6}))
"""


@pytest.fixture
def store(size: int, tmp_path: Path) -> Path:
    """The memory of `size` records in a store of its own, without vectors."""
    path = tmp_path / "store.sqlite3"
    with MemoryEngine.open(memory_root(size), store=path, model=None) as engine:
        engine.sync()
    return path


@pytest.mark.parametrize("size", SIZES)
def bench_cold_start(record, store, size):
    runs = [_first_turn(memory_root(size), store) for _ in range(REPEATS)]
    best = {name: round(min(run[name] for run in runs), 2) for name in runs[0]}
    record("start", best | {"store_mb": round(store.stat().st_size / 1e6, 1)})


def _first_turn(root: Path, store: Path) -> dict[str, float]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TURN, str(root), str(store)],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    said: dict[str, float] = json.loads(done.stdout)
    return said | {"process_ms": (time.perf_counter() - start) * 1000}


@pytest.mark.parametrize("size", SIZES)
def bench_sync(record, size, tmp_path):
    """A first sync, one with nothing changed, one after each edit of a line, and the snapshot's refresh."""
    root = tmp_path / "root"
    shutil.copytree(memory_root(size), root)
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=HashingEmbedder()) as engine:
        first = _milliseconds(engine.sync)
        engine.search("loads the snapshot", k=1)
        unchanged = min(_milliseconds(engine.sync) for _ in range(REPEATS))
        spans = {
            name: [_one_change(engine, root, edit, number) for number in range(CHANGES)]
            for name, edit in EDITS.items()
        }
        record(
            "sync",
            {
                "first_ms": first,
                "unchanged_ms": unchanged,
                **{f"{name}_ms": min(sync for sync, _ in spans[name]) for name in EDITS},
                "refresh_ms": min(refresh for of_edit in spans.values() for _, refresh in of_edit),
            },
        )
        turn = SessionContext(latest_user_message="was the last change taken in")
        generation = engine.build_retrieval_context(turn, today=TODAY).stats["generation"]
        assert generation == 1 + CHANGES * len(EDITS)


def _change(lines: list[str], number: int) -> None:
    lines[-1] = _varied(lines[-1], statement=f"the change number {number}")


def _add_on_top(lines: list[str], number: int) -> None:
    lines.insert(0, _varied(lines[0], id=f"mem_new_{number}", statement=f"the new record number {number}"))


def _remove(lines: list[str], number: int) -> None:
    del lines[len(lines) // 2 + number]


EDITS: dict[str, Callable[[list[str], int], None]] = {
    "changed": _change,
    "added": _add_on_top,
    "removed": _remove,
}


def _varied(line: str, **fields: str) -> str:
    return json.dumps(json.loads(line) | fields | {"status": "active"})


def _one_change(
    engine: MemoryEngine, root: Path, edit: Callable[[list[str], int], None], number: int
) -> tuple[float, float]:
    """Milliseconds for (the sync, the snapshot's refresh) after an edit of the largest file."""
    path = root / "memory" / "L2.playbooks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    edit(lines, number)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = current_snapshot(engine)
    sync = _milliseconds(engine.sync)
    refresh = min(
        _milliseconds(lambda: refresh_snapshot(before, engine._store, before.model_id))
        for _ in range(REPEATS)
    )
    return sync, refresh


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return round((time.perf_counter() - start) * 1000, 2)
