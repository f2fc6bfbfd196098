"""A memory root's records in the ranking core: the engine's own snapshot, searched directly."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pi_rank.errors import StoreError
from pi_rank.qmd.shelves.found import Found, Ranked
from pi_rank.qmd.shelves.fts import bound
from pi_rank.qmd.shelves.memory import found_record
from pi_rank.qmd.warm.models import MARKDOWN_MODEL, Models
from pi_rank.ranking.blend import DEFAULTS
from pi_rank.ranking.terms import matching_terms
from pi_rank.snapshot.snapshot import Snapshot, load_snapshot, refresh_snapshot
from pi_rank.store.store import MemoryStore
from pi_rank.turn.ranking import rank

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.ranking.lexical import LexicalIndex

# What the engine's order gives to the query's own text: cosine 1, half of which is taken away and given
# back, and every word.
HIGHEST_BLEND = 1.0 + DEFAULTS.words


class WarmMemory:
    """The active records of one store. Threads may share it."""

    def __init__(self, store: str, analyzer: FtsAnalyzer, models: Models) -> None:
        self._path = Path(store)
        self._analyzer = analyzer
        self._models = models
        self._model = ""
        self._store: MemoryStore | None = None
        self._snapshot: Snapshot | None = None
        self._lock = threading.Lock()
        self._name = ""

    def called(self, collection: str) -> WarmMemory:
        """This index, under the name that its collection has now."""
        self._name = collection
        return self

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()

    def refresh(self) -> str:
        """Read what has changed since the last search; the name of the model that answers on this store."""
        self._fresh()
        return self._model or MARKDOWN_MODEL

    def lexical(self, text: str, k: int) -> Ranked:
        """Records by BM25 over any of the words.

        Where none has any, over the vocabulary's words like them.
        """
        snapshot = self._fresh()
        if snapshot is None:
            return Ranked("none", [])
        found = self._scored(snapshot, self._analyzer.query_terms(text), k)
        if found:
            return Ranked("any", found)
        return Ranked("terms", self._scored(snapshot, matching_terms(text, snapshot.lexical), k))

    def semantic(self, text: str, k: int) -> Ranked | None:
        """Records by cosine; None where no record is embedded, or the model is late."""
        snapshot = self._fresh()
        vector = self._vector(snapshot, text)
        if snapshot is None or snapshot.vectors is None or vector is None:
            return None
        hits = snapshot.vectors.search(
            vector, k, eligible=snapshot.active.view(np.uint8), tie_rank=snapshot.tie_rank
        )
        pairs = zip(hits.rows.tolist(), hits.scores.tolist(), strict=True)
        return Ranked("semantic", [self._found(snapshot, row, max(0.0, score)) for row, score in pairs])

    def hybrid(self, text: str, k: int) -> Ranked | None:
        """Records in the engine's own order of words and meaning; None where only one of them finds any."""
        snapshot = self._fresh()
        vector = self._vector(snapshot, text)
        if snapshot is None or vector is None:
            return None
        ranking = rank(snapshot, self._analyzer, text, vector, snapshot.active.view(np.uint8), depth=k)
        if ranking.mode != "hybrid":
            return None
        pairs = zip(ranking.rows[:k].tolist(), ranking.scores[:k].tolist(), strict=True)
        shares = [(row, max(0.0, min(1.0, score / HIGHEST_BLEND))) for row, score in pairs]
        return Ranked("hybrid", [self._found(snapshot, row, share) for row, share in shares])

    def _scored(self, snapshot: Snapshot, terms: tuple[str, ...], k: int) -> list[Found]:
        eligible = snapshot.active.view(np.uint8)
        rows, scores = snapshot.lexical.search(terms, k, eligible=eligible, tie_rank=snapshot.tie_rank)
        most = highest_score(snapshot.lexical, terms, snapshot.tie_rank) if len(rows) else 1.0
        pairs = zip(rows.tolist(), (scores / most).tolist(), strict=True)
        return [self._found(snapshot, row, min(1.0, share)) for row, share in pairs]

    def _found(self, snapshot: Snapshot, row: int, score: float) -> Found:
        return found_record(self._name, msgspec.json.decode(snapshot.payloads[row]), score)

    def _fresh(self) -> Snapshot | None:
        """The store's present version; None while there is no store."""
        with self._lock:
            if self._store is None and not self._open():
                return None
            assert self._store is not None
            if self._snapshot is not None and self._snapshot.version == self._store.version():
                return self._snapshot
            self._model = self._store.model_choice().answering
            model_id = self._models.of(self._model).model_id
            if self._snapshot is None:
                self._snapshot = load_snapshot(self._store, model_id)
            else:
                self._snapshot = refresh_snapshot(self._snapshot, self._store, model_id)
            return self._snapshot

    def _vector(self, snapshot: Snapshot | None, text: str) -> npt.NDArray[np.float32] | None:
        """The query's vector by the model of the snapshot's own vectors; None where it is late or another."""
        model = self._models.of(self._model) if snapshot is not None and self._model else None
        if snapshot is None or model is None or snapshot.model_id != model.model_id:
            return None
        return self._models.vector(self._model, text)

    def _open(self) -> bool:
        if not self._path.is_file():
            return False
        try:
            self._store = MemoryStore.open(self._path, read_only=True)
        except StoreError:
            if self._path.stat().st_size:
                raise
            return False  # another process is just making it
        return True


def highest_score(index: LexicalIndex, terms: tuple[str, ...], tie_rank: npt.NDArray[np.int32]) -> float:
    """What BM25 tends to for a document that has every term without end: the scores' common measure."""
    total = 0.0
    for term in terms:
        rows, _ = index.search((term,), index.n_rows, eligible=None, tie_rank=tie_rank)
        total += bound(index.n_live, len(rows))
    return total or 1.0
