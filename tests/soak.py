"""Eight threads that ask and one that writes, on one engine: no error, no mixed generation, and it scales.

    python -m tests.soak --seconds 60

Every write rewrites every record, with the number of its generation as the first word: what one answer shows
must all be of one generation, the one that the answer says it is of, and no older than what that thread was
shown before.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import threading
import time
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.ranking.semantic import VectorIndex
from tests.support.memory import write_root
from tests.support.snapshots import WORDS

THREADS = 8
RECORDS = 300
EMBEDDER = HashingEmbedder(64)
BLOCK = bytes(1 << 20)


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


class Window(NamedTuple):
    """What some threads did in a short time: turns a second, cores used, and seconds of a core for a turn."""

    rate: float
    cores: float
    cost: float


def window(task, threads, seconds=0.1):
    """Calls task(thread, call) in so many threads for so long."""
    counts, stop = [0] * threads, time.perf_counter() + seconds

    def repeat(number):
        while time.perf_counter() < stop:
            task(number, counts[number])
            counts[number] += 1

    workers = [threading.Thread(target=repeat, args=(number,)) for number in range(threads)]
    began, used = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wall, used = time.perf_counter() - began, time.process_time() - used
    calls = sum(counts)  # none at all, where other programs kept every core
    return Window(calls / wall, used / wall, used / calls if calls else math.inf)


@contextmanager
def without_graphs():
    """Meanwhile no graph is built: that would have a core to itself for some seconds."""
    wants = VectorIndex.wants_graph
    VectorIndex.wants_graph = property(lambda self: False)
    try:
        yield
    finally:
        VectorIndex.wants_graph = wants


@contextmanager
def asking(folder, size=20_000):
    """A task for `window`: one turn of 60 words over so many records, its vector given, by exact scan."""
    corpus, embedder = Corpus(seed=5, size=size), HashingEmbedder(1024)
    root = corpus.write(folder / "root")
    prompts = corpus.prompts(64, 60)
    contexts = [SessionContext(latest_user_message=prompt) for prompt in prompts]
    vectors = embedder.embed_documents(prompts)
    opened = MemoryEngine.open(root, store=folder / "store.sqlite3", model=embedder)
    with without_graphs(), opened as engine:
        engine.sync()

        def ask(thread, call):
            at = (call + thread * 7) % len(contexts)
            engine.build_retrieval_context(contexts[at], query_vector=vectors[at])

        yield ask


def checksum(thread, call):
    """A task without the interpreter's lock: what it gets of two cores is what there is to be had."""
    zlib.crc32(BLOCK)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder))
        soak.run(options.seconds)
    print(f"{soak.turns} turns of {len(soak.generations)} generations by {THREADS} threads")
    print(f"{len(soak.wrong)} of them wrong")
    for wrong in soak.wrong[:10]:
        print(wrong)
    with tempfile.TemporaryDirectory() as folder, asking(Path(folder)) as ask:
        for threads in (1, 2, 4, 8):
            best = max(window(ask, threads, 0.25) for _ in range(10))
            print(f"{threads} threads: {best.rate:.0f} turns a second on {best.cores:.2f} cores")
    raise SystemExit(bool(soak.wrong))


if __name__ == "__main__":
    main()
