"""What the embedders share: the part of a text that is read, texts on all cores, recent queries' vectors."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Lock
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

# What a model knows of a text: its words, of most of them only letters, or nothing.
Reading = Literal["words", "letters", "nothing"]
CACHED_QUERIES = 1024  # vectors: 1.5 MB at 384 dimensions
TEXTS_PER_TASK = 16
MAX_CHARACTERS = 8_192  # read of a text, half from each end: six times what 256 tokens of English need


class VectorCache:
    """The vectors of the queries asked for last, read-only. Threads may share it."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, text: str, compute: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        """The text's vector, from `compute` where it is not kept; two threads may both compute it."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = compute()
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > CACHED_QUERIES:
                self._vectors.popitem(last=False)
        return vector


def both_ends(text: str) -> str:
    """A text, of a very long one its first and last characters."""
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]} {text[-half:]}"


def readable(text: str) -> str:
    """Both ends of a very long text; surrogate pairs joined, lone surrogates replaced: UTF-8 has neither."""
    text = both_ends(text)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def on_all_cores(
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Callable[[int], None] | None,
) -> None:
    """Fills `vectors` with what `embed` makes of some texts at a time; `progress` runs in this thread."""

    def embed_from(start: int) -> int:
        part = texts[start : start + TEXTS_PER_TASK]
        vectors[start : start + len(part)] = embed(part)
        return len(part)

    done = 0
    pool = ThreadPoolExecutor(_cores(), thread_name_prefix="pi-rank-embed")
    try:
        tasks = [pool.submit(embed_from, start) for start in range(0, len(texts), TEXTS_PER_TASK)]
        for task in as_completed(tasks):
            done += task.result()
            if progress is not None:
                progress(done)
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
