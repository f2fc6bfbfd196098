"""The rows of records, as readers get them: all of them, or what has come and gone since an earlier state."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from pi_rank.store.checks import check_state, row_checksum
from pi_rank.store.marks import is_known

_COLUMNS = "SELECT rowid, id, payload, tombstoned, text_hash, terms, active, checksum FROM records"
_ALL_ROWS = f"{_COLUMNS} WHERE rowid > ? ORDER BY rowid"
_NEW_ROWS = f"{_COLUMNS} INDEXED BY records_by_generation WHERE generation > ? ORDER BY rowid"
_REMOVED_ROWS = (
    "SELECT rowid FROM removed INDEXED BY removed_by_generation WHERE generation > ? ORDER BY rowid"
)


class StoredRow(NamedTuple):
    """A record in the store. `rowid` is never used again; `payload` decodes with `decode_stored`."""

    rowid: int
    id: str
    payload: bytes
    tombstoned: bool
    text_hash: bytes
    terms: bytes


class StoreVersion(NamedTuple):
    """A state of the store: two numbers that go up, of the records and of the vectors (of any model).

    `mark` is the state's own name (`pi_rank.store.marks`). Only where two are equal are the numbers of one
    history: a backup that is put back comes to the same ones again.
    """

    generation: int
    vectors: int
    mark: bytes


class RowChanges(NamedTuple):
    """What happened to the rows since an earlier state.

    `complete`: `added` is every row there is, and what the reader held before is void. Otherwise `added`
    are the new rows and `removed` the rowids gone since; a changed record is one of each. Both ascend.
    `damaged`: ids of rows that are there and not what was written, which are left out of `added`.
    `warnings`: what the last sync warned of.
    """

    generation: int
    mark: bytes
    complete: bool
    added: list[StoredRow]
    removed: list[int]
    damaged: tuple[str, ...]
    warnings: tuple[str, ...]


def read_changes(connection: sqlite3.Connection, since: StoreVersion | None) -> RowChanges:
    """See `MemoryStore.rows`. Call inside a transaction."""
    state = check_state(connection)
    complete = since is None or since.generation < state.complete_from or not is_known(connection, since.mark)
    after = 0 if complete or since is None else since.generation
    added, damaged = _sound_rows(connection.execute(_ALL_ROWS if complete else _NEW_ROWS, (after,)))
    removed = [] if complete else [rowid for (rowid,) in connection.execute(_REMOVED_ROWS, (after,))]
    return RowChanges(state.generation, state.mark, complete, added, removed, damaged, state.warnings)


def _sound_rows(found: sqlite3.Cursor) -> tuple[list[StoredRow], tuple[str, ...]]:
    """The rows that are what was written, and the ids of the others."""
    rows, damaged = [], []
    for rowid, id_, payload, tombstoned, text_hash, terms, active, checksum in found:
        try:
            sound = row_checksum(id_, text_hash, payload, terms, tombstoned, active) == checksum
        except (TypeError, AttributeError, ValueError, OverflowError):  # not even of the right type
            sound = False
        if sound:
            rows.append(StoredRow(rowid, id_, payload, tombstoned == 1, text_hash, terms))
        else:
            damaged.append(str(id_))
    return rows, tuple(damaged)
