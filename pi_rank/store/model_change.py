"""Which model answers on a store, and the change to another: the old answers until the new is complete."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from pi_rank.embedding import load_embedder
from pi_rank.embedding.queries import QueryEmbedder
from pi_rank.embedding.registry import lasting_name
from pi_rank.store.missing_vectors import EMBED_CHUNK, embed_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_rank.embedding import Embedder
    from pi_rank.store.store import MemoryStore

    Progress = Callable[[int, int], None]

# Texts embedded at once in the background: as many as one core takes, so that turns have the others.
BACKGROUND_CHUNK = 16
# A process that only answers one prompt is gone by then, and has not loaded a second model for nothing.
PATIENCE_SECONDS = 5.0
STOP_SECONDS = 5.0


class StoreModels:
    """The models of one open store. Where the caller named a model of its own, there is no change to make.

    :param model: what `MemoryEngine.open` takes; "default" follows what was chosen for the store.
    """

    def __init__(self, store: MemoryStore, model: str | Embedder | None) -> None:
        self._store = store
        self._follows = isinstance(model, str) and model == "default"
        self._answering = store.model_choice().answering if self._follows else ""
        self.queries = QueryEmbedder(self._answering if self._follows else model)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def embed(self, progress: Progress | None = None) -> int:
        """Embeds what lacks a vector of the answering model; how many texts that were.

        If another model has been chosen, its vectors are then made on a thread of their own.
        """
        wanted = self._follow() if self._follows else self._answering
        embedder = self.queries.model()
        done = 0 if embedder is None else embed_missing(self._store, embedder, progress)
        if wanted != self._answering and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._change_later, name="pi-rank-change", daemon=True)
            self._thread.start()
        return done

    def use(self, model: str, progress: Progress | None = None) -> int:
        """Chooses a model for the store, makes its vectors and lets it answer; how many texts it embedded.

        :raises ModelError: the model cannot be loaded or run; the old one goes on answering.
        """
        name = lasting_name(model)
        embedder = load_embedder(name)
        self._store.choose_model(name)
        return self._change(name, embedder, progress, EMBED_CHUNK)

    def _change(self, wanted: str, embedder: Embedder, progress: Progress | None, chunk: int) -> int:
        done = 0
        while not self._stop.is_set():
            done += embed_missing(self._store, embedder, progress, chunk_size=chunk, stop=self._stop)
            if self._store.hand_over(wanted, embedder.model_id):
                if self._follows:
                    self._answer_with(wanted, embedder)
                break
            if self._store.model_choice().wanted != wanted:
                break  # whoever chose the other one sees to it
        return done

    def close(self) -> None:
        """Stops a change after its present chunk, which is not waited for when a slow endpoint holds it."""
        self.pause()
        self.queries.close()

    def pause(self) -> None:
        """As `close`, but the answering model stays: the store is about to be replaced."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def resume(self, store: MemoryStore) -> None:
        """Goes on with the store's successor; the next `embed` takes up its choice."""
        self._store, self._stop, self._thread = store, threading.Event(), None

    def _follow(self) -> str:
        """Takes up what another process chose or completed; the model that is wanted."""
        choice = self._store.model_choice()
        if choice.answering != self._answering:
            self._answer_with(choice.answering, choice.answering)
        return choice.wanted

    def _answer_with(self, name: str, model: str | Embedder) -> None:
        # The old one is not closed: a turn that has asked it for a vector still gets it.
        self.queries, self._answering = QueryEmbedder(model), name

    def _change_later(self) -> None:
        if self._stop.wait(PATIENCE_SECONDS):
            return
        wanted = self._store.model_choice().wanted
        try:
            self._change(wanted, load_embedder(wanted), None, BACKGROUND_CHUNK)
        except Exception as error:  # a model of anybody's may raise anything; nobody waits for this thread
            if not self._stop.is_set():
                warnings.warn(f"not changed to {wanted} yet: {error}", RuntimeWarning, stacklevel=2)
