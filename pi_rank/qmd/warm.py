"""What a long-lived process keeps between commands: the model, and every collection in the ranking core."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pi_rank.embedding.queries import QueryEmbedder
from pi_rank.engine import MemoryEngine
from pi_rank.qmd.config import MEMORY, Collection
from pi_rank.qmd.found import Ranked
from pi_rank.qmd.paths import Places
from pi_rank.qmd.warm_files import WarmFiles
from pi_rank.qmd.warm_memory import WarmMemory
from pi_rank.ranking.analysis import FtsAnalyzer

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.embedding import Embedder


class Warm:
    """Ranking by the core, for many commands and threads. Made by `opened`.

    Each index follows its file: a command sees every update that had ended when the command began.
    """

    def __init__(self, places: Places, model: str | Embedder | None, patience: float | None) -> None:
        self.analyzer = FtsAnalyzer()
        self._patience = patience
        self._queries = QueryEmbedder(model)
        self._places = places
        self._files: WarmFiles | None = None
        self._memories: dict[str, WarmMemory] = {}
        self._engines: dict[Path, MemoryEngine] = {}
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(
        cls, places: Places, model: str | Embedder | None, patience: float | None = None
    ) -> Iterator[Warm]:
        """The core on one index.

        :param model: as for `MemoryEngine.open`; None ranks by words only.
        :param patience: seconds to wait for a query's vector before it is left out; None: no limit.
        """
        warm = cls(places, model, patience)
        try:
            yield warm
        finally:
            warm.close()

    def close(self) -> None:
        """Let go of files and model."""
        self._queries.close()
        self.analyzer.close()
        for each in (self._files, *self._memories.values(), *self._engines.values()):
            if each is not None:
                each.close()

    def preload(self, collections: Sequence[Collection]) -> None:
        """Load the model and the collections' indexes now rather than in the first command."""
        self._queries.model()
        self._warm_files().refresh()
        for each in collections:
            if each.kind == MEMORY:
                self._memory(each).refresh()

    def query_vector(self, text: str) -> npt.NDArray[np.float32] | None:
        """float32[dimension] of unit length; None where there is no model."""
        deadline = None if self._patience is None else time.perf_counter() + self._patience
        return self._queries.request(text, deadline).get()

    def files_lexical(self, names: Sequence[str], text: str, k: int) -> Ranked:
        """Markdown files with any of the text's words."""
        return self._warm_files().lexical(names, text, k)

    def files_semantic(
        self, names: Sequence[str], vector: npt.NDArray[np.float32] | None, k: int
    ) -> Ranked | None:
        """Markdown files near to the query's vector; None where nothing is embedded."""
        return None if vector is None else self._warm_files().semantic(names, vector, k)

    def memory_lexical(self, collection: Collection, text: str, k: int) -> Ranked:
        """Records with any of the text's words, or, where there is none, with words like them."""
        return self._memory(collection).lexical(text, k)

    def memory_semantic(
        self, collection: Collection, vector: npt.NDArray[np.float32] | None, k: int
    ) -> Ranked | None:
        """Records near to the query's vector; None where nothing is embedded."""
        return None if vector is None else self._memory(collection).semantic(vector, k)

    def memory_hybrid(self, collection: Collection, text: str, k: int) -> Ranked | None:
        """Records by words and meaning together; None where only one of them finds any."""
        vector = self.query_vector(text)
        return None if vector is None else self._memory(collection).hybrid(text, vector, k)

    def engine(self, root: Path) -> MemoryEngine:
        """The engine on a memory root, in step with its files."""
        with self._lock:
            known = self._engines.get(root)
            if known is None:
                known = MemoryEngine.open(root, model=self._queries.model())
                self._engines[root] = known
        known.sync()
        return known

    def _warm_files(self) -> WarmFiles:
        with self._lock:
            if self._files is None:
                self._files = WarmFiles(self._places.database, self.analyzer, self._queries.model_id)
            return self._files

    def _memory(self, collection: Collection) -> WarmMemory:
        store = collection.store
        with self._lock:
            known = self._memories.get(store)
            if known is None:
                known = WarmMemory(store, self.analyzer, self._queries.model_id)
                self._memories[store] = known
        return known.called(collection.name)
