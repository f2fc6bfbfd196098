"""The prompt's vector, in time or not at all: a turn never fails, and never waits past its deadline, for a model."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from pi_rank.embedding import Embedder

    Vector = npt.NDArray[np.float32]

LATE = "late"


class QueryVector:
    """A vector that has been asked for. `status` says, once `get` returned, what became of it."""

    def __init__(self, compute: Callable[[], Vector], pool: ThreadPoolExecutor | None, deadline: float | None) -> None:
        self._compute = compute
        self._deadline = deadline
        self._future: Future[Vector] | None = pool.submit(compute) if pool is not None else None
        self.status = "not needed"

    def get(self) -> Vector | None:
        """float32[dimension], or None where the model failed or is late."""
        try:
            vector = self._compute() if self._future is None else self._in_time(self._future)
        except FutureTimeoutError:
            self.status = LATE
            return None
        except Exception as error:  # whatever a model or a remote endpoint raises, the turn goes on without it
            self.status = f"failed: {error}"
            return None
        self.status = "ok"
        return vector

    def _in_time(self, future: Future[Vector]) -> Vector:
        assert self._deadline is not None
        try:
            return future.result(max(0.0, self._deadline - time.perf_counter()))
        except FutureTimeoutError:
            future.cancel()  # a request still queued behind a stuck one would only be late for nobody
            raise


class QueryEmbedder:
    """Loads the model at the first prompt that needs it, and embeds prompts.

    :param load: gives the model; called once, by whichever thread comes first.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._loading = threading.Lock()
        self._embedder: Embedder | None = None
        self._error: Exception | None = None
        self._pool: ThreadPoolExecutor | None = None

    def model(self) -> Embedder:
        """The model. The first failure to load it is warned of; every call then raises it again.

        :raises ModelError: the model cannot be loaded.
        """
        with self._loading:
            if self._embedder is None and self._error is None:
                try:
                    self._embedder = self._load()
                except Exception as error:
                    self._error = error
                    warnings.warn(f"semantic ranking is off, turns are lexical: {error}", RuntimeWarning, stacklevel=2)
            if self._error is not None:
                raise self._error
            assert self._embedder is not None
            return self._embedder

    def request(self, text: str, deadline: float | None) -> QueryVector:
        """Asks for a prompt's vector.

        :param deadline: on the clock of `time.perf_counter`; None computes the vector when it is fetched, on the
            caller's own thread.
        """
        if deadline is not None and self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pi-rank-query")
        pool = self._pool if deadline is not None else None
        return QueryVector(lambda: self.model().embed_query(text), pool, deadline)

    def close(self) -> None:
        """Lets go of the worker; a call that hangs in it is not waited for."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
