"""The embedding models of a process by the names under which stores chose them, each loaded once."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from pi_rank.embedding.queries import UNREADABLE, QueryEmbedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# What Markdown is embedded with; a memory root's store says itself what it was embedded with.
MARKDOWN_MODEL = "default"


class Models:
    """Query vectors by model. Threads may share it.

    :param enabled: False gives no vectors at all.
    :param patience: seconds to wait for a vector before it is left out; None: no limit.
    """

    def __init__(self, enabled: bool, patience: float | None) -> None:
        self.enabled = enabled
        self._patience = patience
        self._known: dict[str, QueryEmbedder] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> QueryEmbedder:
        """The model called `name`, which is loaded when it is first asked for a vector."""
        with self._lock:
            if name not in self._known:
                self._known[name] = QueryEmbedder(name if self.enabled else None)
            return self._known[name]

    def vector(self, name: str, text: str) -> tuple[npt.NDArray[np.float32] | None, str]:
        """(float32[dimension] of unit length, ""); or (None, why there is none)."""
        deadline = None if self._patience is None else time.perf_counter() + self._patience
        request = self.of(name).request(text, deadline)
        vector = request.get()
        return vector, "" if vector is not None else _reason(request.status)

    def close(self) -> None:
        """Let go of the models."""
        for each in self._known.values():
            each.close()


def _reason(status: str) -> str:
    if status == UNREADABLE:
        return "the model does not know the question's words"
    if status == "late":
        return "the model is late, or is just being loaded"
    return f"the model {status}" if status.startswith("failed") else f"there is {status}"


def model_id(name: str) -> str:
    """The id under which the model's vectors are stored; the model is loaded only where nothing else tells.

    :raises ModelError: there is no such model.
    """
    from pi_rank.embedding import load_embedder
    from pi_rank.embedding.registry import find_card

    known: str | None = find_card(name).model_id
    return known or load_embedder(name).model_id
