"""Batch against one by one: the same turns, on engines with and without a model."""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from benchmarks.common import TODAY, corpus, folder, memory_root, turns
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from pi_rank.embedding import Embedder

WORDS = 12


class KnownVectors(HashingEmbedder):
    """Vectors of prompts made beforehand, so that a batch is timed without the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def learn(self, prompts: Sequence[str]) -> None:
        """Makes the vectors of these prompts."""
        self._known.update({prompt: super(KnownVectors, self).embed_query(prompt) for prompt in prompts})

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """float32[dimension], looked up where it is known."""
        known = self._known.get(text)
        return super().embed_query(text) if known is None else known


def contexts(size: int, count: int) -> list[SessionContext]:
    """`count` turns with different prompts, for which all of the corpus is eligible."""
    return [turn.context for turn in turns(size, count, WORDS)]


@contextmanager
def engine_with_known_vectors(size: int, count: int) -> Iterator[MemoryEngine]:
    """The memory of `size` records; the vectors of its first `count` prompts cost nothing."""
    embedder = KnownVectors()
    embedder.learn(corpus(size).prompts(count, WORDS))
    with _opened(size, embedder, "hashing") as engine:
        yield engine


@contextmanager
def engine_with_model(size: int) -> Iterator[MemoryEngine]:
    """The memory of `size` records with the shipped model."""
    with _opened(size, "default", "default") as engine:
        yield engine


@contextmanager
def _opened(size: int, model: str | Embedder, name: str) -> Iterator[MemoryEngine]:
    with MemoryEngine.open(
        memory_root(size), store=folder() / f"batch-{name}-{size}.sqlite3", model=model
    ) as engine:
        engine.sync()
        engine.search("loads the snapshot and the model", k=1)
        yield engine


def rates(engine: MemoryEngine, size: int, *, count: int, repeats: int = 3) -> tuple[float, float]:
    """(turns a second one by one, turns a second as a batch): the best of `repeats` of each, in turns.

    No prompt comes twice: the engine keeps the vectors of recent ones.
    """
    asked = iter(contexts(size, 2 * repeats * count))
    alone, batched = [], []
    for _ in range(repeats):
        part = list(islice(asked, count))
        start = time.perf_counter()
        for context in part:
            engine.build_retrieval_context(context, today=TODAY)
        alone.append(time.perf_counter() - start)
        part = list(islice(asked, count))
        start = time.perf_counter()
        engine.retrieve_batch(part, today=TODAY)
        batched.append(time.perf_counter() - start)
    return count / min(alone), count / min(batched)
