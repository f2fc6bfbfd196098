"""The engine with notes: one corpus and one ranking for PI's memory and for what /remember was told.

Notes are rows that follow the store's own in a snapshot of their own. They are never written to the store
or to
PI's files, so that nothing but a recall sees them, and a `pi-rank sync` of another process cannot remove
them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pi_rank.engine import MemoryEngine
from pi_rank.memory.records import embedded_text, encode_record, tags_text, text_hash
from pi_rank.snapshot.snapshot import extend_snapshot
from pi_rank.store.rows import RowChanges, StoredRow
from pi_rank.store.vectors import VectorRows
from pi_rank.turn.ranking import DEPTH

if TYPE_CHECKING:
    from datetime import date

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.embedding import Embedder
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.results import Hit, SyncReport
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.turn import Memory

# Row ids of notes in a snapshot: above any that SQLite gives.
FIRST_ROWID = 1 << 62


class _NoteRow(NamedTuple):
    row: StoredRow
    vector: npt.NDArray[np.float32] | None


class _Vectors:
    """Gives a snapshot the vectors of notes where it expects those of the store."""

    def __init__(self, rows: Sequence[_NoteRow]) -> None:
        self._found = {row.row.text_hash: row.vector for row in rows if row.vector is not None}

    def vectors(self, model_id: str, after: int = 0) -> VectorRows:
        """All of them, and no later position in the store's own."""
        matrix = np.array(list(self._found.values()), np.float32)
        return VectorRows(
            after, list(self._found), matrix.reshape(len(self._found), -1 if self._found else 0)
        )


class NotedEngine(MemoryEngine):
    """A `MemoryEngine` whose searches also find notes, and never wait for changed files: `refresh` does."""

    def __init__(self, *parts: Any) -> None:  # noqa: ANN401
        super().__init__(*parts)
        self._publishing = threading.Lock()
        self._note_rows: list[_NoteRow] = []
        self._vector_model: str | None = None
        self._base: Snapshot | None = None
        self._published: Snapshot | None = None

    def sync_records(self) -> SyncReport:
        """Take in the memory files without embedding what is new; `sync` does that later.

        :raises MemoryRootError, StoreError: as `sync`.
        """
        return self._store.sync_root(self._root, self._analyzer)

    def refresh(self) -> None:
        """Make what the store holds now visible, with the notes. Searches go on meanwhile."""
        with self._publishing:
            base = super()._fresh(wait_for_model=True)
            if base is not self._base or self._published is None:
                if self._vector_model != base.model_id:  # vectors of two models are not comparable
                    self._note_rows = [row._replace(vector=None) for row in self._note_rows]
                    self._vector_model = base.model_id
                self._note_rows = [self._embedded_row(row, base.model_id) for row in self._note_rows]
                self._published = _with_notes(base, self._note_rows)
                self._base = base

    def is_behind(self) -> bool:
        """Whether the store has been written to since the last refresh, or another model answers now."""
        base = self._base  # a note that is taken back meanwhile sets it to None
        if base is None:
            return False
        model_id = self._models.queries.model_id
        return base.version != self._store.version() or model_id not in (None, base.model_id)

    def add_notes(self, records: Sequence[MemoryRecord]) -> None:
        """Make new notes visible to the next search."""
        self.refresh()
        with self._publishing:
            assert self._published is not None
            model_id = self._published.model_id
            new = [self._embedded_row(row, model_id) for row in self._rows(records)]
            self._published = _with_notes(self._published, new)
            self._note_rows.extend(new)

    def replace_notes(self, records: Sequence[MemoryRecord]) -> None:
        """Make these the notes, in place of all others."""
        with self._publishing:
            known = {row.row.text_hash: row.vector for row in self._note_rows}
            self._note_rows = []
            self._note_rows = [_NoteRow(row.row, known.get(row.row.text_hash)) for row in self._rows(records)]
            self._base = None  # what is published stays in use until the next one is ready
        self.refresh()

    def recall(self, query: str, top_k: int, context: SessionContext | None) -> list[Hit]:
        """The best hits for a query, at most `top_k`, none of which says what an earlier one says."""
        if not query.strip():
            return []
        ranked = self.search(query, k=DEPTH, context=context)
        distinct: dict[str, Hit] = {}
        for hit in ranked:
            distinct.setdefault(hit.record.statement.strip(), hit)
        return list(distinct.values())[:top_k]

    def _rows(self, records: Sequence[MemoryRecord]) -> list[_NoteRow]:
        terms = self._analyzer.document_terms([(record.statement, tags_text(record)) for record in records])
        first = FIRST_ROWID + len(self._note_rows)
        return [
            _NoteRow(
                StoredRow(first + number, record.id, encode_record(record), False, text_hash(record), packed),
                None,
            )
            for number, (record, packed) in enumerate(zip(records, terms, strict=True))
        ]

    def _embedded_row(self, row: _NoteRow, model_id: str | None) -> _NoteRow:
        model = self._models.queries.model() if model_id is not None and row.vector is None else None
        if model is None:
            return row
        from pi_rank.memory.records import decode_stored

        text = embedded_text(decode_stored(row.row.payload))
        return row._replace(vector=model.embed_documents([text])[0])

    def _fresh(self, *, wait_for_model: bool) -> Snapshot:
        if self._published is None:
            self.refresh()
        return self._published or super()._fresh(wait_for_model=wait_for_model)

    def _memory(self, today: date, *, wait_for_model: bool) -> Memory:
        """What a turn reads: PI's memory alone. Its block is of what has been governed, which no note has."""
        memory = super()._memory(today, wait_for_model=wait_for_model)
        return memory._replace(snapshot=self._base or memory.snapshot)


def open_noted(root: Path, store: str | Path | None, model: str | Embedder | None) -> NotedEngine:
    """A `NotedEngine` on a memory root, as `MemoryEngine.open` opens its own."""
    return cast("NotedEngine", NotedEngine.open(root, store=store, model=model))


def _with_notes(snapshot: Snapshot, rows: Sequence[_NoteRow]) -> Snapshot:
    if not rows:
        return snapshot
    changes = RowChanges(
        snapshot.version.generation,
        snapshot.version.mark,
        complete=False,
        added=[row.row for row in rows],
        removed=[],
        damaged=(),
        warnings=snapshot.warnings,
    )
    return extend_snapshot(snapshot, changes, _Vectors(rows), snapshot.version)
