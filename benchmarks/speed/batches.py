"""Batch against one by one, with the shipped model and with vectors that cost nothing."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.speed.common import SEED, TODAY, corpus, folder, memory_root, settle, store_path
from pi_rank import MemoryEngine, SessionContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from pi_rank.embedding import Embedder

WORDS = 12
REPEATS = 5
_fresh = count()
# Hashed by each of two threads, without the GIL, to learn what a second thread is worth on this machine now.
HASHED = bytes(2_000_000)
HASHES = 40


class KnownVectors(HashingEmbedder):
    """Vectors of prompts made beforehand, so that a batch is timed without the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def learn(self, contexts: Sequence[SessionContext]) -> None:
        """Makes the vectors of these turns' prompts."""
        prompts = [context.latest_user_message for context in contexts]
        self._known = {prompt: super(KnownVectors, self).embed_query(prompt) for prompt in prompts}

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """float32[dimension], looked up where it is known."""
        known = self._known.get(text)
        return super().embed_query(text) if known is None else known


class Memory(NamedTuple):
    """An engine, and what has to be told of turns before they are timed."""

    engine: MemoryEngine
    prepare: Callable[[Sequence[SessionContext]], None]


class Rates(NamedTuple):
    """Turns a second. `gain`: how much faster two threads are than one where nothing holds them up."""

    alone: float
    batched: float
    gain: float

    @property
    def efficiency(self) -> float:
        """The share of that gain which the batch has: 0.8 where it is 1.6 times as fast on two idle cores."""
        return self.batched / self.alone / self.gain


@contextmanager
def memory_with_known_vectors(size: int) -> Iterator[Memory]:
    """The memory of `size` records; vectors cost nothing."""
    embedder = KnownVectors()
    with _opened(size, embedder, store_path(size)) as engine:
        yield Memory(engine, embedder.learn)


@contextmanager
def memory_with_model(size: int) -> Iterator[Memory]:
    """The memory of `size` records with the shipped model."""
    with _opened(size, "default", folder() / f"model-{SEED}-{size}.sqlite3") as engine:
        yield Memory(engine, lambda contexts: None)


@contextmanager
def _opened(size: int, model: str | Embedder, store: Path) -> Iterator[MemoryEngine]:
    with MemoryEngine.open(memory_root(size), store=store, model=model) as engine:
        engine.sync()
        engine.search("loads the model", k=1)
        settle(engine)
        yield engine


def rates(memory: Memory, size: int, *, turns: int) -> Rates:
    """The best of REPEATS of each, one after the other, so that all see the same neighbours.

    No prompt comes twice: the engine keeps the vectors of recent ones.
    """
    spans = [
        (_alone(memory, _contexts(size, turns)), _batched(memory, _contexts(size, turns)), *_hashed())
        for _ in range(REPEATS)
    ]
    alone, batched, one_thread, two_threads = map(min, zip(*spans, strict=True))
    return Rates(round(turns / alone, 1), round(turns / batched, 1), round(one_thread / two_threads, 3))


def _contexts(size: int, turns: int) -> list[SessionContext]:
    source = corpus(size)
    words = source.prompts(turns, WORDS, draw=next(_fresh))
    return [SessionContext(**source.turn(prompt, 1.0)) for prompt in words]


def _alone(memory: Memory, contexts: Sequence[SessionContext]) -> float:
    memory.prepare(contexts)
    start = time.perf_counter()
    for context in contexts:
        memory.engine.build_retrieval_context(context, today=TODAY)
    return time.perf_counter() - start


def _batched(memory: Memory, contexts: Sequence[SessionContext]) -> float:
    memory.prepare(contexts)
    start = time.perf_counter()
    memory.engine.retrieve_batch(contexts, today=TODAY)
    return time.perf_counter() - start


def _hashed() -> tuple[float, float]:
    """Seconds for the same hashes by one thread and by two: work that needs no GIL."""

    def hashes(number: int) -> None:
        for _ in range(number):
            hashlib.sha256(HASHED).digest()

    with ThreadPoolExecutor(2) as pool:
        start = time.perf_counter()
        hashes(HASHES)
        middle = time.perf_counter()
        list(pool.map(hashes, [HASHES // 2] * 2))
        return middle - start, time.perf_counter() - middle
