"""What the benchmarks share: memories built once, turns with their vectors, timing on a busy machine."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.snapshot.keeper import LONG_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.snapshot.snapshot import Snapshot

SEED = 20260630
TODAY = date(2026, 6, 30)
SIZES = (1_000, 10_000, 100_000)
PROMPT_WORDS = (5, 12, 60)
SHARES = (0.01, 0.1, 1.0)
DEPTH = 100  # hits asked of each source of a turn
# Names a folder in which built memories stay for the next run; without it they are built in a temporary one.
KEEP_VARIABLE = "PI_RANK_BENCH_DIR"


@cache
def corpus(size: int) -> Corpus:
    """The corpus that every benchmark of this size uses."""
    return Corpus(SEED, size, mixed=True, nested=True)


class Turn(NamedTuple):
    """One prompt in its place, and its vector: float32[384] of unit length."""

    context: SessionContext
    vector: npt.NDArray[np.float32]


def turns(size: int, count: int, words: int, share: float = 1.0) -> list[Turn]:
    """`count` turns of `words` words in the place where this share of the corpus is eligible."""
    embedder, source = HashingEmbedder(), corpus(size)
    return [
        Turn(SessionContext(**source.turn(prompt, share)), embedder.embed_query(prompt))
        for prompt in source.prompts(count, words)
    ]


class Memories:
    """Synced engines by size, opened once and closed together. Use as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._engines: dict[int, MemoryEngine] = {}

    def __enter__(self) -> Memories:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def engine(self, size: int) -> MemoryEngine:
        """The engine on the memory of `size` records, with vectors and its snapshot loaded."""
        if size not in self._engines:
            engine = MemoryEngine.open(memory_root(size), store=store_path(size), model=HashingEmbedder())
            self._engines[size] = self._stack.enter_context(engine)
            engine.sync()
            settle(engine)
        return self._engines[size]

    def snapshot(self, size: int) -> Snapshot:
        """What a turn on that memory reads. The parts of a turn have no public way in."""
        return current_snapshot(self.engine(size))

    def analyzer(self, size: int) -> FtsAnalyzer:
        """The engine's own analyzer, its words cached."""
        return self.engine(size)._analyzer


def current_snapshot(engine: MemoryEngine) -> Snapshot:
    """What the engine's next turn reads."""
    return engine._fresh(wait_for_model=True)


def settle(engine: MemoryEngine) -> None:
    """Waits for the graph that a lasting engine builds in the background, or for its being given up."""
    for _ in range(LONG_LIVED):
        current_snapshot(engine)
    while engine._keeper._graphs._source is not None:
        time.sleep(0.05)


def memory_root(size: int) -> Path:
    """A memory root of `size` records, written once."""
    root = folder() / f"root-{SEED}-{size}"
    if not root.exists():
        corpus(size).write(partial := root.with_name(f"{root.name}-partial-{os.getpid()}"))
        partial.rename(root)
    return root


def store_path(size: int) -> Path:
    """The store of that memory, with vectors of the hashing embedder, its graph beside it."""
    return folder() / f"store-{SEED}-{size}.sqlite3"


def folder() -> Path:
    """Where memories are built: the folder that KEEP_VARIABLE names, or one that ends with the process."""
    kept = os.environ.get(KEEP_VARIABLE)
    return Path(kept) if kept else Path(_temporary().name)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pi-rank-bench-", ignore_cleanup_errors=True)


def fastest_pass(call: Callable[[Any], object], arguments: Sequence[Any], repeats: int = 20) -> float:
    """Least CPU seconds of this thread for a pass over `arguments`: for calls as short as reading a clock.

    CPU time and the least of several, because what other programs do meanwhile shall not count.
    """
    return min(_span(lambda: [call(argument) for argument in arguments]) for _ in range(repeats))


def fastest_each(call: Callable[[Any], object], arguments: Sequence[Any], repeats: int = 5) -> float:
    """Sum over `arguments` of the least CPU seconds of this thread for one call with each.

    All are gone through before any comes again: a call finds in the caches what the others left there.
    """
    passes = [[_span(partial(call, argument)) for argument in arguments] for _ in range(repeats)]
    return sum(map(min, zip(*passes, strict=True)))


def _span(call: Callable[[], object]) -> float:
    start = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - start) / 1e9
