"""Eight threads that ask and one that writes, on one engine: no error, nothing mixed, nothing that grows.

    python -m tests.campaign --door soak --minutes 30

Every write rewrites every record, with the number of its generation as the first word: what one answer shows
must all be of one generation, the one that the answer says it is of, and no older than what that thread was
shown before.
"""

from __future__ import annotations

import threading

import psutil

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from tests.campaign.door import Door
from tests.support.memory import write_root
from tests.support.snapshots import WORDS

THREADS = 8
RECORDS = 300
EMBEDDER = HashingEmbedder(64)
GROWTH_BYTES = 48 << 20  # of resident memory between the second case of a process and any later one


def records(generation):
    for number in range(RECORDS):
        words = " ".join(WORDS[(number + step) % 10] for step in range(4))
        yield {
            "id": f"mem_{number}",
            "statement": f"g{generation} {words} {number}",
            "ruleType": "correction" if number % 40 == 0 else "workflow",
            "status": "contested" if number % 50 == 1 else "active",
        }


class Soak:
    """One run. `turns` and `generations` count what was served; `wrong` holds what should not have been."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.turns = 0
        self.generations = set()
        self.wrong = []
        self._stop = threading.Event()
        self._count = threading.Lock()
        write_root(self.root, records(1))
        self.engine = MemoryEngine.open(self.root, store=folder / "store.sqlite3", model=EMBEDDER)
        self.engine.sync()

    def run(self, seconds):
        threads = [threading.Thread(target=self._guarded, args=(self._read, n)) for n in range(THREADS)]
        threads.append(threading.Thread(target=self._guarded, args=(self._write,)))
        for thread in threads:
            thread.start()
        self._stop.wait(seconds)
        self._stop.set()
        for thread in threads:
            thread.join()
        self.engine.close()

    def _guarded(self, task, *arguments):
        try:
            task(*arguments)
        except Exception as error:  # whatever it is, it is what this looks for
            self.wrong.append(repr(error))
            self._stop.set()

    def _write(self):
        generation = 1
        while not self._stop.is_set():
            generation += 1
            write_root(self.root, records(generation))
            report = self.engine.sync()
            assert report.generation == generation, report

    def _read(self, number):
        last, turns, seen = 0, 0, set()
        while not self._stop.is_set():
            prompt = f"{WORDS[(number + turns) % 10]} {WORDS[turns % 10]}"
            result = self.engine.build_retrieval_context(SessionContext(latest_user_message=prompt))
            shown = [hit.record for hit in result.selected] + list(result.hard_rules) + list(result.contested)
            stamps = {record.statement.split()[0] for record in shown}
            generation = result.stats["generation"]
            if stamps != {f"g{generation}"} or generation < last:
                self.wrong.append((generation, last, stamps))
            last, turns = generation, turns + 1
            seen.add(generation)
        with self._count:
            self.turns += turns
            self.generations |= seen


class SoakDoor(Door):
    """One soak after the other in one process, whose memory, descriptors and threads are watched."""

    deadline = 120.0
    repeatable = False

    @classmethod
    def missing(cls):
        return "" if hasattr(psutil.Process, "num_fds") else "descriptors cannot be counted here"

    def __init__(self, folder):
        super().__init__(folder)
        self._process = psutil.Process()
        self._number = 0
        self._base = None

    def make(self, chance):
        return {"seconds": chance.choice([1, 2, 5])}

    def run(self, case, trial):
        self._number += 1
        soak = Soak(self.folder / f"soak{self._number}")
        with trial.expecting("soak"):
            soak.run(case["seconds"])
        trial.inputs += soak.turns
        trial.tallies["generations"] += len(soak.generations)
        trial.check(not soak.wrong, "a wrong turn", str(soak.wrong[:3]))
        self._watch(trial)

    def _watch(self, trial):
        now = self._process.memory_info().rss, self._process.num_fds(), self._process.num_threads()
        if self._number <= 2:  # until then modules, models and caches come
            self._base = now
            return
        memory, files, threads = self._base
        trial.check(now[0] <= memory + GROWTH_BYTES, "memory grows", f"{memory >> 20} to {now[0] >> 20} MiB")
        trial.check(now[1] <= files, "descriptors grow", f"{files} to {now[1]}")
        trial.check(now[2] <= threads, "threads grow", f"{threads} to {now[2]}")
