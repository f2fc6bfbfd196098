"""One generation of memory, held in memory as columns, postings, phrases and vectors, and never changed.

A row is a dense number in [0, n_rows). Rows are only ever appended: a changed record leaves its row dead and
takes a new one, so that the next generation shares nearly everything with this one. When too many rows are
dead, it is time to build from nothing again.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pi_rank._core.negative_scope import PhraseAutomaton
from pi_rank.memory.records import MemoryRecord, decode_stored
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.names import NameIndex
from pi_rank.ranking.overlap import OverlapIndex
from pi_rank.snapshot.columns import (
    ACTIVE,
    CONTESTED,
    FIRST_DAY,
    LAST_DAY,
    LAYER_CODES,
    STATUS_NAMES,
    TOMBSTONED,
    Codebooks,
    Columns,
    PlaceMasks,
    place_masks,
    read_columns,
)
from pi_rank.snapshot.vectors import extend_vectors
from pi_rank.store.rows import StoreVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    import numpy.typing as npt

    from pi_rank.ranking.semantic import VectorIndex
    from pi_rank.snapshot.vectors import SnapshotVectors, VectorSource
    from pi_rank.store.rows import RowChanges
    from pi_rank.store.store import MemoryStore

    _PlaceKey = tuple[str | None, frozenset[str], str | None, str | None, int | None]

# Past this share of dead rows a refresh costs more than it saves, in memory and in every scan.
MAX_DEAD_SHARE = 0.25
MIN_DEAD_ROWS = 1024
# A process serves few places at a time, a project and its folders; a place's masks cost 4 bytes a record.
PLACES_KEPT = 16
# Turns show the same rules, and largely the same records, again and again.
RECORDS_KEPT = 1024


@dataclass(frozen=True)
class Snapshot:
    """Everything that one turn reads. Arrays are indexed by row unless said otherwise.

    `version`: what the store said of itself when this was read. `last_vector`: the newest vector taken in.
    `order`: int32, the live rows by record id. `tie_rank`: int32, a live row's place in `order`, by which
    equal scores are settled. `text_node`: int32, text code → vector node, -1 while the text is not embedded.
    `node_text`: int32, vector node → text code.
    `hard_rules`, `identity`: int32, rows that are hard rules, or of layer L1, wherever they are eligible;
    highest confidence first, then by id.
    `phrases`, `wanted`: those that keep a record out of a turn, and those that bring it in.
    `contested`: the stems of the live contested rows. `damaged`: ids of records that the store has and cannot
    be read from it. `warnings`: what the last sync warned of.
    """

    version: StoreVersion
    model_id: str | None
    last_vector: int
    rowids: npt.NDArray[np.int64]
    ids: list[str]
    payloads: list[bytes]
    columns: Columns
    live: npt.NDArray[np.bool_]
    order: npt.NDArray[np.int32]
    tie_rank: npt.NDArray[np.int32]
    hard_rules: npt.NDArray[np.int32]
    identity: npt.NDArray[np.int32]
    lexical: LexicalIndex
    names: NameIndex
    contested: OverlapIndex
    phrases: PhraseAutomaton
    wanted: PhraseAutomaton
    vectors: VectorIndex | None
    text_node: npt.NDArray[np.int32]
    node_text: npt.NDArray[np.int32]
    books: Codebooks
    damaged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    _places: dict[_PlaceKey, PlaceMasks] = field(default_factory=dict, repr=False)
    _records: dict[int, MemoryRecord] = field(default_factory=dict, repr=False)

    @property
    def live_count(self) -> int:
        """How many records there are, of every status."""
        return len(self.order)

    @property
    def crowded(self) -> bool:
        """Whether so many rows are dead that a snapshot from nothing is due."""
        dead = len(self.ids) - self.live_count
        return dead > MIN_DEAD_ROWS and dead > MAX_DEAD_SHARE * len(self.ids)

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """The rows that are active and not tombstoned, as a new mask."""
        active: npt.NDArray[np.bool_] = self.live & (self.columns.status == ACTIVE)
        return active

    def record(self, row: int) -> MemoryRecord:
        """The whole record of a row."""
        record = self._records.get(row)
        if record is None:
            if len(self._records) >= RECORDS_KEPT:
                self._records.clear()
            self._records[row] = record = decode_stored(self.payloads[row])
        return record

    def is_tombstoned(self, row: int) -> bool:
        """Whether a deletion marker names the row's record."""
        return bool(self.columns.status[row] == TOMBSTONED)

    @cached_property
    def _dated(self) -> bool:
        """Whether any record is bound to days."""
        columns = self.columns
        return bool((columns.valid_from > FIRST_DAY).any() or (columns.valid_to < LAST_DAY).any())

    @cached_property
    def _status_of(self) -> dict[str, str]:
        ids = map(self.ids.__getitem__, self.order.tolist())
        codes = self.columns.status[self.order].tolist()
        return dict(zip(ids, map(STATUS_NAMES.__getitem__, codes), strict=True))

    def statuses(self, ids: Collection[str]) -> dict[str, str]:
        """The status of each record named, `tombstoned` where a marker says so; unknown ids are left out."""
        status_of = self._status_of
        return {record_id: status_of[record_id] for record_id in ids if record_id in status_of}

    @cached_property
    def has_folders(self) -> bool:
        """Whether any record is of a folder rather than of a project by name."""
        return any(name.startswith("/") for name in self.books.projects.names())

    def place(
        self,
        profile_id: str | None,
        projects: frozenset[str],
        pi_project_id: str | None = None,
        reader: str | None = None,
        day: date | None = None,
    ) -> PlaceMasks:
        """The rows that belong to a profile and its projects (see `place_masks`); kept for the next turn.

        :param day: on which they are to be valid; None for any.
        """
        known = frozenset(name for name in projects if self.books.projects.get(name) is not None)
        key = (profile_id, known, pi_project_id, reader, day.toordinal() if day and self._dated else None)
        masks = self._places.get(key)
        if masks is None:
            if len(self._places) >= PLACES_KEPT:
                self._places.clear()
            masks = place_masks(self.columns, self.live, self.books, *key)
            self._places[key] = masks
        return masks


def load_snapshot(store: MemoryStore, model_id: str | None) -> Snapshot:
    """The store's present generation, built from nothing. `model_id` None: without vectors."""
    version = store.version()
    return extend_snapshot(_nothing(model_id), store.rows(), store, version)


def refresh_snapshot(snapshot: Snapshot, store: MemoryStore, model_id: str | None) -> Snapshot:
    """The store's present generation, built from an earlier one, which stays as it is."""
    version = store.version()
    changes = store.rows(since=snapshot.version)
    if changes.complete:
        return extend_snapshot(_nothing(model_id), changes, store, version)
    if model_id != snapshot.model_id:
        snapshot = without_vectors(snapshot, model_id)
    if changes.added or changes.removed:
        return extend_snapshot(snapshot, changes, store, version)
    return replace(
        snapshot,
        version=version._replace(generation=changes.generation, mark=changes.mark),
        warnings=changes.warnings,
        **_newer_vectors(snapshot, store, snapshot.columns),
    )


def with_vectors(snapshot: Snapshot, source: VectorSource) -> Snapshot:
    """The same records with the vectors that a source has for them."""
    return replace(snapshot, **_newer_vectors(snapshot, source, snapshot.columns))


def without_vectors(snapshot: Snapshot, model_id: str | None) -> Snapshot:
    """The same records, ready to take in the vectors of a model."""
    none = np.empty(0, np.int32)
    return replace(snapshot, model_id=model_id, last_vector=0, vectors=None, text_node=none, node_text=none)


def tie_ranks(order: npt.NDArray[np.int32], n_rows: int) -> npt.NDArray[np.int32]:
    """Each row's place in `order`, int32[n_rows]; 0 for rows that are not in it."""
    ranks = np.zeros(n_rows, np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def hard_rules(
    columns: Columns, live: npt.NDArray[np.bool_], tie_rank: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The live rows that are hard rules, highest confidence first."""
    return _by_confidence(live & columns.hard_rule, columns, tie_rank)


def identity_rows(
    columns: Columns, live: npt.NDArray[np.bool_], tie_rank: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The live, active rows of layer L1, highest confidence first."""
    mask = live & (columns.layer == LAYER_CODES["L1"]) & (columns.status == ACTIVE)
    return _by_confidence(mask, columns, tie_rank)


def _by_confidence(
    mask: npt.NDArray[np.bool_], columns: Columns, tie_rank: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    rows = np.flatnonzero(mask)
    return rows[np.lexsort((tie_rank[rows], -columns.confidence[rows]))].astype(np.int32)


def contested_rows(columns: Columns, live: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """The live rows that are contested, ascending."""
    return np.flatnonzero(live & (columns.status == CONTESTED)).astype(np.int32)


def _nothing(model_id: str | None) -> Snapshot:
    none = np.empty(0, np.int32)
    columns, _ = read_columns([], books := Codebooks.of())
    return Snapshot(
        version=StoreVersion(0, 0, b""),
        model_id=model_id,
        last_vector=0,
        rowids=np.empty(0, np.int64),
        ids=[],
        payloads=[],
        columns=columns,
        live=np.empty(0, np.bool_),
        order=none,
        tie_rank=none,
        hard_rules=none,
        identity=none,
        lexical=(lexical := LexicalIndex.build([])),
        names=NameIndex.build([]),
        contested=OverlapIndex(lexical, none),
        phrases=PhraseAutomaton.build([]),
        wanted=PhraseAutomaton.build([]),
        vectors=None,
        text_node=none,
        node_text=none,
        books=books,
    )


def extend_snapshot(
    old: Snapshot, changes: RowChanges, vectors: VectorSource, version: StoreVersion
) -> Snapshot:
    """A snapshot with rows added and removed, and the vectors that are new; the old one stays as it is."""
    fresh, texts = read_columns(changes.added, old.books)
    columns = old.columns.followed_by(fresh)
    terms = [row.terms for row in changes.added]
    removed = _rows_of(changes.removed, old.rowids)
    ids = old.ids + [row.id for row in changes.added]
    live = np.concatenate([old.live, np.ones(len(changes.added), np.bool_)])
    live[removed] = False
    order = _merge_order(old.order, ids, live, first_new=len(old.ids))
    tie_rank = tie_ranks(order, len(ids))
    lexical = old.lexical.updated(removed, terms) if old.ids else LexicalIndex.build(terms)
    contested = contested_rows(columns, live)
    return Snapshot(
        version=version._replace(generation=changes.generation, mark=changes.mark),
        model_id=old.model_id,
        rowids=np.concatenate([old.rowids, np.array([row.rowid for row in changes.added], np.int64)]),
        ids=ids,
        payloads=old.payloads + [row.payload for row in changes.added],
        columns=columns,
        live=live,
        order=order,
        tie_rank=tie_rank,
        hard_rules=hard_rules(columns, live, tie_rank),
        identity=identity_rows(columns, live, tie_rank),
        lexical=lexical,
        names=old.names.updated(texts.named_in),
        contested=(
            old.contested
            if np.array_equal(contested, old.contested.rows)
            else OverlapIndex(lexical, contested)
        ),
        phrases=_compiled(old.phrases, removed, [each.against for each in texts.phrases]),
        wanted=_compiled(old.wanted, removed, [each.wanted for each in texts.phrases]),
        books=old.books,
        damaged=_still_damaged(old, changes),
        warnings=changes.warnings,
        **_newer_vectors(old, vectors, columns),
    )


def _compiled(
    old: PhraseAutomaton, removed: npt.NDArray[np.int32], added: Sequence[tuple[str, ...]]
) -> PhraseAutomaton:
    return old.updated(removed, added) if old.n_rows else PhraseAutomaton.build(added)


def _still_damaged(old: Snapshot, changes: RowChanges) -> tuple[str, ...]:
    if not old.damaged:
        return changes.damaged
    again = {row.id for row in changes.added}
    return (*(id_ for id_ in old.damaged if id_ not in again), *changes.damaged)


def _newer_vectors(old: Snapshot, source: VectorSource, columns: Columns) -> SnapshotVectors:
    fields: SnapshotVectors = {
        "vectors": old.vectors,
        "text_node": old.text_node,
        "node_text": old.node_text,
        "last_vector": old.last_vector,
    }
    return extend_vectors(fields, old.model_id, source, old.books.texts, columns)


def _rows_of(removed: Sequence[int], rowids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    # A row that came and went between two refreshes was never seen here.
    known = np.intersect1d(np.array(removed, np.int64), rowids, assume_unique=True)
    return np.searchsorted(rowids, known).astype(np.int32)


def _merge_order(
    order: npt.NDArray[np.int32], ids: Sequence[str], live: npt.NDArray[np.bool_], first_new: int
) -> npt.NDArray[np.int32]:
    kept = order[live[order]]
    new = sorted(range(first_new, len(ids)), key=ids.__getitem__)
    if len(new) > len(kept) // 8:
        return np.array(sorted(kept.tolist() + new, key=ids.__getitem__), np.int32)
    places = [bisect_left(kept, ids[row], key=ids.__getitem__) for row in new]
    return np.insert(kept, places, new).astype(np.int32)
