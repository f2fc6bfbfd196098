"""Kills a process that syncs, asks and builds, at random points, and checks what the next one finds.

    python -m tests.campaign --door kills --minutes 30

Each kill waits for one of seven pieces of work to begin, and a random time more. What is left must answer as
a build from nothing does, before and after a sync. Every fourth time the snapshot's file is cut short too,
as by a power cut, and it must be said that it was made anew.
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from pi_rank import MemoryEngine
from pi_rank.memory.root import MemoryRoot
from pi_rank.snapshot.file import snapshot_path
from pi_rank.snapshot.keeper import SnapshotKeeper
from pi_rank.snapshot.snapshot import load_snapshot
from pi_rank.store.missing_vectors import embed_missing
from pi_rank.store.store import MemoryStore
from tests.campaign.door import Door
from tests.campaign.eager import eager
from tests.support.kill_worker import WORK, some_records, work
from tests.support.memory import write_root
from tests.support.snapshots import ANALYZER, EMBEDDER, answers

MODEL = EMBEDDER.model_id
SECONDS = 60


class Kills(Door):
    """One memory and one store, whose worker is killed again and again."""

    deadline = 120.0
    repeatable = False

    @classmethod
    def missing(cls):
        return "" if find_spec("hnswlib") else "graphs need hnswlib (extra: hnsw)"

    def __init__(self, folder):
        super().__init__(folder)
        self._eager = eager()
        self._eager.__enter__()
        self._context = kill_context()
        self._place = folder / "killed"
        write_root(self._place / "root", some_records(random.Random(1)))

    def close(self):
        self._eager.__exit__(None, None, None)

    def make(self, chance):
        target = chance.randint(1, len(WORK))
        return {"seed": chance.randrange(2**31), "target": target, "damage": chance.random() < 0.25}

    def run(self, case, trial):
        trial.inputs += 1
        chance = random.Random(case["seed"])
        trial.tallies["kills"] += 1
        trial.tallies[f"killed: {kill_once(self._context, self._place, chance, case['target'])}"] += 1
        damaged = case["damage"] and damage(self._place, chance)
        trial.tallies["damaged files"] += damaged
        with trial.expecting("the start after a kill"):
            check(self._place, damaged)


def kill_context():
    """How workers are started."""
    context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        context.set_forkserver_preload(["tests.support.kill_worker"])
    return context


def kill_once(context, folder, chance, target):
    """What the worker was doing when it was killed."""
    under_way = context.Value("i", 0, lock=False)
    worker = context.Process(target=work, args=(folder, chance.randrange(2**31), under_way))
    worker.start()
    try:
        deadline = time.monotonic() + SECONDS
        while under_way.value != target:
            assert time.monotonic() < deadline, f"{list(WORK)[target - 1]} never began"
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, chance.choice((0.001, 0.02))))
        doing = under_way.value
    finally:
        worker.kill()
        worker.join()
    return list(WORK)[doing - 1] if doing else "between"


def damage(folder, chance):
    """Cuts the snapshot's file short; whether there was one."""
    path = snapshot_path(folder / "store.sqlite3")
    if not path.exists():
        return False
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])
    return True


def check(folder, damaged):
    """The next start is right, before and after a sync, and says what it could not use."""
    with MemoryStore.open(folder / "store.sqlite3") as store:
        kept = SnapshotKeeper(store)
        assert without_vectors(kept.current(MODEL)) == without_vectors(load_snapshot(store, None))
        # The file may still have the vector of a text that went and came back, the store not yet again.
        embed_missing(store, EMBEDDER)
        assert answers(kept.current(MODEL)) == answers(load_snapshot(store, MODEL))
        said = [line for line in kept.rebuilt if line.startswith("snapshot:")]
        if _log_was_emptied(folder):  # past 50,000 removed rows an older file is rightly of no use any more
            said = [line for line in said if "no longer tells" not in line]
        assert len(said) == damaged, said
        kept.close()
    with MemoryEngine.open(folder / "root", store=folder / "store.sqlite3", model=EMBEDDER) as engine:
        engine.sync()
    with MemoryStore.open(folder / "store.sqlite3") as store, tempfile.TemporaryDirectory() as aside:
        kept = SnapshotKeeper(store)
        served = answers(with_graph(kept))
        expected = answers_from_nothing(folder / "root", Path(aside, "store.sqlite3"))
        assert served == expected, {key: served[key] for key in served if served[key] != expected[key]}
        kept.close()


def _log_was_emptied(folder):
    connection = sqlite3.connect(folder / "store.sqlite3")
    try:
        return connection.execute("SELECT complete_from FROM state").fetchone()[0] > 0
    finally:
        connection.close()


def without_vectors(snapshot):
    return answers(snapshot) | {"vectors": None}


def with_graph(kept):
    """The snapshot once its graph, from a file or not, is attached."""
    deadline = time.monotonic() + SECONDS
    while True:
        snapshot = kept.current(MODEL)
        # Without vectors: the memory file was killed when it had been emptied and not yet written.
        if snapshot.vectors is None or snapshot.vectors.graph is not None:
            return snapshot
        assert time.monotonic() < deadline, "no graph came"
        time.sleep(0.005)


def answers_from_nothing(root, path):
    with MemoryStore.open(path) as store:
        store.sync_root(MemoryRoot(root), ANALYZER)
        embed_missing(store, EMBEDDER)
        return answers(load_snapshot(store, MODEL))


def kill_many(folder, times, seed=1):
    """How many kills hit which piece of work, and how many files were damaged besides."""
    context = kill_context()
    chance = random.Random(seed)
    write_root(folder / "root", some_records(chance))
    hits = Counter()
    with eager():
        for number in range(times):
            hits[kill_once(context, folder, chance, target=1 + number % len(WORK))] += 1
            damaged = number % 4 == 3 and damage(folder, chance)
            hits["damaged files"] += damaged
            check(folder, damaged)
    return dict(hits)
