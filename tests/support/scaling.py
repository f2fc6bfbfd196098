"""How much of two cores a task gets when threads share it."""

from __future__ import annotations

import math
import threading
import time
import zlib
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.ranking.semantic import VectorIndex

BLOCK = bytes(1 << 20)


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
