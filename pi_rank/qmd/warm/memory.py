"""A memory root's records in the ranking core: the engine's own snapshot, searched directly."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pi_rank.errors import StoreError
from pi_rank.qmd.shelves.found import OFF_TOPIC, Found, Ranked, relevance
from pi_rank.qmd.shelves.fts import bound
from pi_rank.qmd.shelves.memory import found_record
from pi_rank.qmd.shelves.query_language import MAX_TERMS
from pi_rank.qmd.warm.models import MARKDOWN_MODEL, Models
from pi_rank.ranking.blend import DEFAULTS, SPELLED
from pi_rank.ranking.terms import matching_terms
from pi_rank.snapshot.snapshot import Snapshot, load_snapshot, refresh_snapshot
from pi_rank.store.store import MemoryStore
from pi_rank.turn.belonging import Asked, belonging
from pi_rank.turn.ranking import rank
from pi_rank.turn.relevance import Relevant

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.ranking.lexical import LexicalIndex
    from pi_rank.turn.ranking import Ranking


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
        found = self._scored(snapshot, self._analyzer.query_terms(text)[:MAX_TERMS], k)
        if found:
            return Ranked("any", found)
        return Ranked("terms", self._scored(snapshot, matching_terms(text, snapshot.lexical), k))

    def semantic(self, text: str, k: int) -> Ranked:
        """Records by cosine; `why` says what is not embedded, or why there is no vector of the query."""
        snapshot = self._fresh()
        vector, why = self._vector(snapshot, text)
        if snapshot is None or snapshot.vectors is None or vector is None:
            return Ranked("none", [], why)
        if self._relevant(snapshot, self._ranking(snapshot, text, vector, k), text, vector).off_topic:
            return Ranked(OFF_TOPIC, [], why)
        hits = snapshot.vectors.search(
            vector, k, eligible=snapshot.active.view(np.uint8), tie_rank=snapshot.tie_rank
        )
        pairs = zip(hits.rows.tolist(), hits.scores.tolist(), strict=True)
        return Ranked("semantic", [self._found(snapshot, row, max(0.0, score)) for row, score in pairs], why)

    def hybrid(self, text: str, k: int) -> Ranked:
        """Records in the engine's own order of words and meaning; `none` where only one of them finds any.

        A score is the relevance of the record, or of the most relevant one behind it: who is ranked before
        another by what the query's best records have in common is no less to the point.
        """
        snapshot = self._fresh()
        vector, why = self._vector(snapshot, text)
        if snapshot is None or snapshot.vectors is None or vector is None:
            return Ranked("none", [], why)
        ranking = self._ranking(snapshot, text, vector, k)
        ranking, _, off_topic = self._relevant(snapshot, ranking, text, vector)
        if off_topic:
            return Ranked(OFF_TOPIC, [], why)
        if ranking.mode != "hybrid":
            return Ranked("none", [], why)
        rows = ranking.rows[:k]
        cosines = np.nan_to_num(snapshot.vectors.products(vector, rows)).clip(0.0, 1.0)
        shares = self._shares(snapshot, self._analyzer.query_terms(text)[:MAX_TERMS], rows)
        scores = np.maximum.accumulate(relevance(cosines, shares)[::-1])[::-1]
        likely = [None] * len(rows) if ranking.relevance is None else ranking.relevance[:k].tolist()
        found = [
            self._found(snapshot, row, score)._replace(relevance=relevance)
            for row, score, relevance in zip(rows.tolist(), scores.tolist(), likely, strict=True)
        ]
        return Ranked("hybrid", found, why)

    def _ranking(self, snapshot: Snapshot, text: str, vector: npt.NDArray[np.float32], k: int) -> Ranking:
        eligible = snapshot.active.view(np.uint8)
        spelled = self._models.of(self._model).reading(text) == "letters"
        constants = SPELLED if spelled else DEFAULTS
        return rank(snapshot, self._analyzer, text, vector, eligible, depth=k, constants=constants)

    def _relevant(
        self, snapshot: Snapshot, ranking: Ranking, text: str, vector: npt.NDArray[np.float32]
    ) -> Relevant:
        """What a turn would select of a ranking."""
        eligible = snapshot.active.view(np.uint8)
        asked, calibration = Asked(text, None, vector), self._models.of(self._model).calibration
        return belonging(snapshot, self._analyzer, ranking, asked, eligible, calibration)

    def _shares(
        self, snapshot: Snapshot, terms: tuple[str, ...], rows: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]:
        """What each row has of the best BM25 score that any could have: float64[m], 0 to 1."""
        scores, _ = snapshot.lexical.score_rows(terms, rows)
        return (scores / highest_score(snapshot.lexical, terms, snapshot.tie_rank)).clip(0.0, 1.0)

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

    def _vector(self, snapshot: Snapshot | None, text: str) -> tuple[npt.NDArray[np.float32] | None, str]:
        """(the query's vector by the model of the snapshot's own vectors or None, what is missing)."""
        if snapshot is None:
            return None, f"{self._name} has not been read yet ('qmd update')"
        pending = unembedded(snapshot)
        if pending and pending == snapshot.active.sum():
            return None, f"nothing of {self._name} is embedded yet ('qmd update')"
        vector, why = self._models.vector(self._model, text)
        if vector is not None and snapshot.model_id != self._models.of(self._model).model_id:
            return None, f"{self._name} is embedded with another model ('qmd update')"
        return vector, why or (f"{pending} records of {self._name} are not embedded yet" if pending else "")

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


def unembedded(snapshot: Snapshot) -> int:
    """How many active records have no vector of the model that answers."""
    active = snapshot.active
    if snapshot.vectors is None:
        return int(active.sum())
    return int((active & (snapshot.vectors.row_node < 0)).sum())


def highest_score(index: LexicalIndex, terms: tuple[str, ...], tie_rank: npt.NDArray[np.int32]) -> float:
    """What BM25 tends to for a document that has every term without end: the scores' common measure."""
    total = 0.0
    for term in terms:
        rows, _ = index.search((term,), index.n_rows, eligible=None, tie_rank=tie_rank)
        total += bound(index.n_live, len(rows))
    return total or 1.0
