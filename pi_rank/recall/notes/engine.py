"""The engine with notes: one corpus and one ranking for PI's memory and for what /remember was told.

Notes are rows that follow the store's own in a snapshot of their own. They are never written to the store or
to PI's files, so that nothing but a recall sees them, and a `pi-rank sync` of another process cannot remove
them. They are found by words at once; their vectors are made behind (`embed_notes`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pi_rank.engine import MemoryEngine
from pi_rank.errors import ModelError, StoreError
from pi_rank.memory.records import decode_stored, embedded_text, encode_record, tags_text, text_hash
from pi_rank.recall.notes.vectors import NoteVectors
from pi_rank.snapshot.snapshot import extend_snapshot, with_vectors
from pi_rank.snapshot.upkeep import TURN_PATIENCE
from pi_rank.snapshot.vectors import NO_VECTOR
from pi_rank.store.rows import RowChanges, StoredRow
from pi_rank.turn.ranking import DEPTH

if TYPE_CHECKING:
    from datetime import date

    from pi_rank.context import SessionContext
    from pi_rank.embedding import Embedder
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.memory.sources.protocol import SourceSpec
    from pi_rank.results import Hit, SyncReport
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.store.vectors import VectorRows
    from pi_rank.turn.turn import Memory

# Row ids of notes in a snapshot: above any that SQLite gives.
FIRST_ROWID = 1 << 62
# So long may embedding take before what came of it is shown, and before whoever asked for it is let go.
EMBED_SECONDS = 1.0
EMBED_BATCH = 64

_log = logging.getLogger("pi_rank")


class _Source:
    """Gives a snapshot the vectors of notes where it expects those of the store."""

    def __init__(self, rows: VectorRows) -> None:
        self._rows = rows

    def vectors(self, model_id: str, after: int = 0) -> VectorRows:
        """All of them, and no later position in the store's own."""
        return self._rows._replace(last=after)


class NotedEngine(MemoryEngine):
    """A `MemoryEngine` whose searches also find notes, and never wait for changed files: `refresh` does."""

    def __init__(self, *parts: Any) -> None:  # noqa: ANN401
        super().__init__(*parts)
        self._publishing = threading.Lock()
        self._note_rows: list[StoredRow] = []
        self._note_vectors = NoteVectors()
        self._pending: dict[bytes, StoredRow] = {}  # by text, those whose vector is still to be made
        self._vector_model: str | None = None
        self._base: Snapshot | None = None
        self._published: Snapshot | None = None

    def keep_vectors(self, path: Path) -> None:
        """Keep the vectors of notes in this file from now on. Called before there are notes."""
        self._note_vectors = NoteVectors(path)
        self._vector_model = None

    def close(self) -> None:
        """As `MemoryEngine.close`; the vectors of notes are written first."""
        with self._publishing:
            self._note_vectors.save(last=True)
        super().close()

    def sync_records(self) -> SyncReport:
        """Take in the memory files without embedding what is new; `catch_up` does that later.

        Where the store cannot be used, `trouble` says what is served instead.

        :raises MemoryRootError: as `sync`.
        """
        try:
            return self._store.sync_root(self._root, self._analyzer, patience=TURN_PATIENCE)
        except StoreError as error:
            return self._without_sync(error)

    def refresh(self) -> None:
        """Make what the store holds now visible, with the notes. Searches go on meanwhile."""
        with self._publishing:
            base = super()._fresh(wait_for_model=True)
            if base is not self._base or self._published is None:
                if self._vector_model != base.model_id:  # vectors of two models are not comparable
                    self._note_vectors.use(base.model_id)
                    self._vector_model = base.model_id
                self._published = _with_notes(base, self._note_rows, self._note_vectors)
                self._pending = self._without_vector(self._note_rows)
                self._base = base

    def is_behind(self) -> bool:
        """Whether the store has been written to since the last refresh, or another model answers now."""
        base = self._base  # a note that is taken back meanwhile sets it to None
        if base is None:
            return False
        model_id = self._models.queries.model_id
        return base.version != self._store.version() or model_id not in (None, base.model_id)

    def add_notes(self, records: Sequence[MemoryRecord]) -> None:
        """Make new notes visible to the next search: by words always, by meaning where the model works."""
        self.refresh()
        with self._publishing:
            assert self._published is not None
            new = self._rows(records)
            self._published = _with_notes(self._published, new, self._note_vectors)
            self._note_rows.extend(new)
            lacking = self._without_vector(new)
            self._pending |= lacking
        try:
            self._embed(list(lacking.values()), time.monotonic() + EMBED_SECONDS)
        except ModelError as error:
            _log.warning("new notes are found by their words only, for now: %s", error)

    def replace_notes(self, records: Sequence[MemoryRecord]) -> None:
        """Make these the notes, in place of all others."""
        with self._publishing:
            before = {row.text_hash for row in self._note_rows}
            self._note_rows = []
            self._note_rows = self._rows(records)
            names = {row.text_hash for row in self._note_rows}
            if gone := before - names:
                self._note_vectors.forget(gone)
            self._pending = self._without_vector(self._note_rows)
            self._base = None  # what is published stays in use until the next one is ready
        self.refresh()
        with self._publishing:
            self._note_vectors.keep_only(names)  # a file of before may know others

    def embed_notes(self) -> int:
        """Embed notes that have no vector yet, newest first, for `EMBED_SECONDS`; how many are still without.

        Searches go on meanwhile, and so does `add_notes`.

        :raises ModelError: the model cannot be loaded or run.
        """
        with self._publishing:
            waiting = list(reversed(self._pending.values()))
        if waiting:
            self._embed(waiting, time.monotonic() + EMBED_SECONDS)
        with self._publishing:
            self._note_vectors.save()
            return len(self._pending)

    @property
    def notes_to_embed(self) -> int:
        """How many texts of notes have no vector yet."""
        return len(self._pending)

    def recall(self, query: str, top_k: int, context: SessionContext | None) -> list[Hit]:
        """The best hits for a query, at most `top_k`, none of which says what an earlier one says."""
        if not query.strip():
            return []
        ranked = self.search(query, k=DEPTH, context=context)
        distinct: dict[str, Hit] = {}
        for hit in ranked:
            distinct.setdefault(hit.record.statement.strip(), hit)
        return list(distinct.values())[:top_k]

    def _rows(self, records: Sequence[MemoryRecord]) -> list[StoredRow]:
        terms = self._analyzer.document_terms([(record.statement, tags_text(record)) for record in records])
        first = FIRST_ROWID + len(self._note_rows)
        return [
            StoredRow(first + number, record.id, encode_record(record), False, text_hash(record), packed)
            for number, (record, packed) in enumerate(zip(records, terms, strict=True))
        ]

    def _without_vector(self, rows: Sequence[StoredRow]) -> dict[bytes, StoredRow]:
        return {row.text_hash: row for row in rows if self._note_vectors.lacks(row.text_hash)}

    def _embed(self, rows: Sequence[StoredRow], until: float) -> None:
        """Embed rows in batches until then, and make what came of it visible."""
        model, model_id = self._models.queries.model(), self._vector_model
        if model is None or model.model_id != model_id:
            return  # the next refresh says whose vectors are wanted
        made: list[bytes] = []
        for start in range(0, len(rows), EMBED_BATCH):
            batch = rows[start : start + EMBED_BATCH]
            matrix = model.embed_documents([embedded_text(decode_stored(row.payload)) for row in batch])
            names = [row.text_hash for row in batch]
            with self._publishing:
                if self._vector_model != model_id:
                    return
                wanted = [
                    place for place, name in enumerate(names) if name in self._pending
                ]  # not taken back
                self._note_vectors.add([names[place] for place in wanted], matrix[wanted])
                made += [names[place] for place in wanted]
                for place in wanted:
                    del self._pending[names[place]]
            if time.monotonic() > until:
                break
        with self._publishing:
            if self._published is not None and self._published.model_id == model_id:
                known = self._note_vectors.rows(_lacking(self._published, made))
                self._published = with_vectors(self._published, _Source(known))

    def _fresh(self, *, wait_for_model: bool) -> Snapshot:
        if self._published is None:
            self.refresh()
        return self._published or super()._fresh(wait_for_model=wait_for_model)

    def _memory(self, today: date, *, wait_for_model: bool) -> Memory:
        """What a turn reads: PI's memory alone. Its block is of what has been governed, which no note has."""
        memory = super()._memory(today, wait_for_model=wait_for_model)
        return memory._replace(snapshot=self._base or memory.snapshot)


def open_noted(
    root: Path,
    store: str | Path | None,
    model: str | Embedder | None,
    sources: Sequence[SourceSpec] | None = None,
) -> NotedEngine:
    """A `NotedEngine` on a memory root, as `MemoryEngine.open` opens its own."""
    return cast("NotedEngine", NotedEngine.open(root, store=store, model=model, sources=sources))


def _with_notes(snapshot: Snapshot, rows: Sequence[StoredRow], vectors: NoteVectors) -> Snapshot:
    if not rows:
        return snapshot
    changes = RowChanges(
        snapshot.version.generation,
        snapshot.version.mark,
        complete=False,
        added=list(rows),
        removed=[],
        damaged=(),
        warnings=snapshot.warnings,
    )
    known = vectors.rows(_lacking(snapshot, (row.text_hash for row in rows)))
    return extend_snapshot(snapshot, changes, _Source(known), snapshot.version)


def _lacking(snapshot: Snapshot, text_hashes: Iterable[bytes]) -> list[bytes]:
    """The texts that have no vector there: a record may say what a note says."""
    texts, nodes = snapshot.books.texts, snapshot.text_node

    def lacks(name: bytes) -> bool:
        code = texts.get(name)
        return code is None or code >= len(nodes) or nodes[code] == NO_VECTOR

    return [name for name in text_hashes if lacks(name)]
