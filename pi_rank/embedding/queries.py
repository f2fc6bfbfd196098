"""The prompt's vector, in time or not at all: no turn fails, or waits past its deadline, for a model."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from typing import TYPE_CHECKING, Protocol

from pi_rank.embedding import load_embedder
from pi_rank.embedding.registry import find_card
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from pi_rank.embedding import Embedder
    from pi_rank.embedding.cards import Calibration, Card
    from pi_rank.embedding.texts import Reading

    Vector = npt.NDArray[np.float32]


# Statuses of a text of whose words the model knows nothing, and only letters.
UNREADABLE, SPELLED = "unreadable", "spelled"


class QueryVector(Protocol):
    """A vector that may be asked for once. `status` then says what became of it."""

    status: str

    def get(self) -> Vector | None:
        """float32[dimension] of unit length, or None where there is none in time."""
        ...


class GivenVector:
    """A vector that the caller brought, or none at all."""

    def __init__(self, vector: Vector | None, status: str) -> None:
        self._vector = vector
        self.status = status

    def get(self) -> Vector | None:
        """What was given."""
        return self._vector


class ComputedVector:
    """A vector that a model computes: on a worker where there is a deadline, else on the caller's thread.

    :param reading: what the model knows of the text, asked once there is a vector.
    """

    def __init__(
        self,
        compute: Callable[[], Vector | None],
        reading: Callable[[], Reading],
        pool: ThreadPoolExecutor | None = None,
        deadline: float | None = None,
    ) -> None:
        self.status = "not asked for"
        self._compute = compute
        self._reading = reading
        self._deadline = deadline
        self._future: Future[Vector | None] | None = None if pool is None else pool.submit(compute)

    def get(self) -> Vector | None:
        """The vector, or None where the model failed or is late; never an exception."""
        try:
            vector = self._compute() if self._future is None else self._in_time(self._future)
        except LateError:
            self.status = "late"
            return None
        except Exception as error:  # a model of anybody's may raise anything; the turn goes on and says so
            self.status = f"failed: {error}"
            return None
        if vector is None:
            self.status = UNREADABLE
        else:
            self.status = SPELLED if self._reading() == "letters" else "ok"
        return vector

    def _in_time(self, future: Future[Vector | None]) -> Vector | None:
        assert self._deadline is not None
        try:
            return future.result(max(0.0, self._deadline - time.perf_counter()))
        except LateError:
            future.cancel()  # still queued behind a stuck one, it would be late for nobody
            raise


class QueryEmbedder:
    """Loads the model when it is first needed, and gives the vectors of prompts.

    :param model: what `load_embedder` takes, an embedder, or None for no vectors at all.
    """

    def __init__(self, model: str | Embedder | None) -> None:
        self._name = model if isinstance(model, str) else None
        self._embedder = None if isinstance(model, str) else model
        self._loading = threading.Lock()
        self._error: Exception | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._card: Card | None = None
        self._known_id = self._id_before_loading()

    @property
    def model_id(self) -> str | None:
        """The model's id; None where there is no model, or where only loading it would tell."""
        return self._known_id

    def model(self) -> Embedder | None:
        """The model, loaded if it was not; None where there is none.

        A model that cannot be loaded is warned of once and then counts as none.
        """
        if self._embedder is None and self._name is not None and self._error is None:
            self._load(self._name)
        return self._embedder

    @property
    def calibration(self) -> Calibration | None:
        """The model's, from its card; None where it is not known.

        A turn asks before anybody had to load the model: the first one of a process selects as the next do.
        """
        told_by = self._embedder or (self._card if self._error is None else None)
        calibration: Calibration | None = getattr(told_by, "calibration", None)
        return calibration

    def request(self, text: str, deadline: float | None) -> QueryVector:
        """Asks for a prompt's vector, to be had until `deadline` on the clock of `time.perf_counter`."""
        if self._error is not None:
            return GivenVector(None, f"failed: {self._error}")
        if self._name is None and self._embedder is None:
            return GivenVector(None, "no model")
        if deadline is None:
            return ComputedVector(lambda: self._embed(text), lambda: self.reading(text))
        return ComputedVector(lambda: self._embed(text), lambda: self.reading(text), self._worker(), deadline)

    def reading(self, text: str) -> Reading:
        """What the loaded model knows of a text; "words" where it does not say."""
        reading: Callable[[str], Reading] | None = getattr(self._embedder, "reading", None)
        return "words" if reading is None else reading(text)

    def close(self) -> None:
        """Lets go of the worker; a call that hangs in it is not waited for."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _id_before_loading(self) -> str | None:
        if self._embedder is not None:
            return self._embedder.model_id
        try:
            self._card = find_card(self._name) if self._name is not None else None
        except ModelError as error:
            self._fail(error)
            return None
        return None if self._card is None else self._card.model_id

    def _load(self, name: str) -> None:
        with self._loading:
            if self._embedder is not None or self._error is not None:
                return
            try:
                self._embedder = load_embedder(name)
            except Exception as error:  # whatever a runtime raises while it reads a model
                self._fail(error)
            else:
                self._known_id = self._embedder.model_id

    def _fail(self, error: Exception) -> None:
        self._error = error
        warnings.warn(f"ranking is lexical only: {error}", RuntimeWarning, stacklevel=4)

    def _embed(self, text: str) -> Vector | None:
        """The vector; None where the model does not know the text's words: it would be noise."""
        embedder = self.model()
        if embedder is None:
            raise self._error or LookupError("no model")
        return None if self.reading(text) == "nothing" else embedder.embed_query(text)

    def _worker(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pi-rank-query")
        return self._pool
