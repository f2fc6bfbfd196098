"""What a long-lived process keeps between commands: the models, and every collection in the ranking core."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pi_rank.engine import MemoryEngine
from pi_rank.qmd.config import MEMORY, Collection
from pi_rank.qmd.paths import Places
from pi_rank.qmd.shelves.found import Ranked
from pi_rank.qmd.warm.files import WarmFiles
from pi_rank.qmd.warm.memory import WarmMemory
from pi_rank.qmd.warm.models import MARKDOWN_MODEL, Models
from pi_rank.ranking.analysis import FtsAnalyzer


class Warm:
    """Ranking by the core, for many commands and threads. Made by `opened`.

    Each index follows its file: a command sees every update that had ended when the command began.
    """

    def __init__(self, places: Places, models: Models) -> None:
        self.analyzer = FtsAnalyzer()
        self._models = models
        self._places = places
        self._files: WarmFiles | None = None
        self._memories: dict[str, WarmMemory] = {}
        self._engines: dict[Path, MemoryEngine] = {}
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, places: Places, *, models: bool = True, patience: float | None = None) -> Iterator[Warm]:
        """The core on one index.

        :param models: False ranks by words only, and loads no model.
        :param patience: seconds to wait for a query's vector before it is left out; None: no limit.
        """
        warm = cls(places, Models(models, patience))
        try:
            yield warm
        finally:
            warm.close()

    def close(self) -> None:
        """Let go of files and models."""
        self._models.close()
        self.analyzer.close()
        for each in (self._files, *self._memories.values(), *self._engines.values()):
            if each is not None:
                each.close()

    def preload(self, collections: Sequence[Collection]) -> None:
        """Load models and indexes now rather than in the first command."""
        self._warm_files().refresh()
        names = {MARKDOWN_MODEL}
        names |= {self._memory(each).refresh() for each in collections if each.kind == MEMORY}
        for name in names:
            self._models.of(name).model()

    def files_lexical(self, names: Sequence[str], text: str, k: int) -> Ranked:
        """Markdown files with any of the text's words."""
        return self._warm_files().lexical(names, text, k)

    def files_semantic(self, names: Sequence[str], text: str, k: int) -> Ranked:
        """Markdown files near to the query in meaning; `why` says what that could not be told of."""
        vector, why = self._models.vector(MARKDOWN_MODEL, text)
        return Ranked("none", [], why) if vector is None else self._warm_files().semantic(names, vector, k)

    def memory_lexical(self, collection: Collection, text: str, k: int) -> Ranked:
        """Records with any of the text's words, or, where there is none, with words like them."""
        return self._memory(collection).lexical(text, k)

    def memory_semantic(self, collection: Collection, text: str, k: int) -> Ranked:
        """Records near to the query in meaning; `why` says what that could not be told of."""
        return self._memory(collection).semantic(text, k)

    def memory_hybrid(self, collection: Collection, text: str, k: int) -> Ranked:
        """Records by words and meaning together; `none` where only one of them finds any."""
        return self._memory(collection).hybrid(text, k)

    def engine(self, root: Path) -> MemoryEngine:
        """The engine on a memory root, in step with its files."""
        with self._lock:
            if root not in self._engines:
                self._engines[root] = MemoryEngine.open(
                    root, model="default" if self._models.enabled else None
                )
            known = self._engines[root]
        known.catch_up()
        return known

    def _warm_files(self) -> WarmFiles:
        with self._lock:
            if self._files is None:
                model_id = self._models.of(MARKDOWN_MODEL).model_id
                self._files = WarmFiles(self._places.database, self.analyzer, model_id)
            return self._files

    def _memory(self, collection: Collection) -> WarmMemory:
        with self._lock:
            if collection.store not in self._memories:
                made = WarmMemory(collection.store, self.analyzer, self._models)
                self._memories[collection.store] = made
            return self._memories[collection.store].called(collection.name)
