"""Several processes sync, ask and rebuild one store while the files are written: as a fresh one at last."""

from __future__ import annotations

import random
import subprocess
import sys
import time

from pi_rank import MemoryEngine, SessionContext
from pi_rank.errors import PiRankError
from tests.campaign.door import REPOSITORY, Door
from tests.support.memory import DEFAULTS, write_root
from tests.support.snapshots import EMBEDDER, WORDS

RECORDS = 800
DELETED = "canary of a deleted record"


class Processes(Door):
    """A case is some seconds of three to five processes and a writer."""

    deadline = 200.0
    repeatable = False

    def make(self, chance):
        return {
            "processes": chance.randint(3, 5),
            "seconds": chance.choice([2, 4]),
            "seed": chance.randrange(2**31),
        }

    def run(self, case, trial):
        chance = random.Random(case["seed"])
        place = self.folder / f"shared{case['seed']}"
        records = _records(chance)
        write_root(place / "root", records, tombstones=["mem_0", "mem_1"])
        command = [sys.executable, "-m", "tests.campaign.scenes.processes", str(place), str(case["seconds"])]
        workers = [
            subprocess.Popen(
                [*command, str(number)], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            for number in range(case["processes"])
        ]
        until = time.monotonic() + case["seconds"]
        while time.monotonic() < until or any(worker.poll() is None for worker in workers):
            _change(chance, records)
            write_root(place / "root", records, tombstones=["mem_0", "mem_1"])
            trial.tallies["writes"] += 1
            time.sleep(0.2)
        for worker in workers:
            said = worker.communicate(timeout=60)[0].decode("utf-8", "replace")
            if trial.check(worker.returncode == 0, "a process fails", said[-2_000:]):
                trial.inputs += int(said.split()[-1])
        self._compare(place, trial)

    def _compare(self, place, trial):
        root = place / "root"
        with (
            trial.expecting("at the end"),
            MemoryEngine.open(root, store=place / "store.sqlite3", model=EMBEDDER) as shared,
            MemoryEngine.open(root, store=place / "fresh.sqlite3", model=EMBEDDER) as fresh,
        ):
            for engine in (shared, fresh):
                engine.sync()
            for word in WORDS:
                trial.check(_hits(shared, word) == _hits(fresh, word), "not as from a fresh store", word)
            ids = [f"mem_{number}" for number in range(RECORDS)]
            trial.check(shared.record_statuses(ids) == fresh.record_statuses(ids), "other statuses")


def _records(chance):
    made = [
        {
            **DEFAULTS,
            "id": f"mem_{number}",
            "statement": f"{' '.join(chance.choices(WORDS, k=6))} number {number}",
        }
        for number in range(RECORDS)
    ]
    for each in made[:2]:
        each["statement"] = DELETED
    return made


def _change(chance, records):
    for _ in range(10):
        each = records[chance.randrange(2, len(records))]
        each["statement"] = f"{' '.join(chance.choices(WORDS, k=6))} {each['id']}"
        each["status"] = chance.choice(["active", "active", "deprecated", "contested"])


def _hits(engine, word):
    return [
        (hit.id, hit.record.statement, round(hit.score, 6))
        for hit in engine.search(word, k=50, mode="lexical")
    ]


def work(place, seconds, seed):
    """One of the processes; how many things it did."""
    chance, done = random.Random(seed), 0
    until = time.monotonic() + seconds
    engine = None
    while time.monotonic() < until:
        if engine is None:
            engine = MemoryEngine.open(place / "root", store=place / "store.sqlite3", model=EMBEDDER)
        done += 1
        kind = chance.random()
        if kind < 0.35:
            engine.sync()
        elif kind < 0.75:
            assert all(
                DELETED not in hit.record.statement for hit in engine.search(chance.choice(WORDS), k=20)
            )
        elif kind < 0.88:
            turn = SessionContext(latest_user_message=f"how do we {chance.choice(WORDS)}?")
            assert DELETED not in engine.build_retrieval_context(turn).markdown
        elif kind < 0.93:
            engine.rebuild()
        elif kind < 0.96:
            engine.status()
        else:
            engine.close()
            engine = None
    if engine is not None:
        engine.close()
    return done


if __name__ == "__main__":
    from pathlib import Path

    try:
        print(work(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
    except PiRankError as error:
        raise SystemExit(f"refused: {error}") from error
