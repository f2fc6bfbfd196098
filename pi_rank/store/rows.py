"""The rows of records as readers get them: all of them, or what has come and gone since an earlier state.

Each state has a mark, a random name, by which whoever holds an earlier one knows it is the store's past.
Numbers of generations cannot tell that: a backup that is put back counts on from where it was, and comes to
the numbers that the lost states had.
"""

from __future__ import annotations

import os
import sqlite3
from typing import NamedTuple

from pi_rank.store.checks import MARK_BYTES, check_state, is_sound

MOST_MARKS = 10_000  # kept; a reader of an older state reads everything again
_COLUMNS = "SELECT rowid, id, payload, tombstoned, text_hash, terms, active, checksum FROM records"
_ALL_ROWS = f"{_COLUMNS} WHERE rowid > ? ORDER BY rowid"
_NEW_ROWS = (
    f"{_COLUMNS} INDEXED BY records_by_generation WHERE generation > ? AND generation <= ? ORDER BY rowid"
)
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
    """See `MemoryStore.rows`. Call inside a transaction.

    :raises sqlite3.DatabaseError: rows are missing, or the store's parts do not agree about its state.
    """
    state = check_state(connection)
    complete = since is None or since.generation < state.complete_from or not is_known(connection, since.mark)
    after = 0 if complete or since is None else since.generation
    found = (
        connection.execute(_ALL_ROWS, (after,))
        if complete
        else connection.execute(_NEW_ROWS, (after, state.generation))
    )
    added, damaged = _sound_rows(found)
    if complete and (count := len(added) + len(damaged)) != state.records:
        raise sqlite3.DatabaseError(f"it has {count} records instead of {state.records}")
    removed = [] if complete else [rowid for (rowid,) in connection.execute(_REMOVED_ROWS, (after,))]
    return RowChanges(state.generation, state.mark, complete, added, removed, damaged, state.warnings)


def _sound_rows(found: sqlite3.Cursor) -> tuple[list[StoredRow], tuple[str, ...]]:
    """The rows that are what was written, and the ids of the others."""
    rows, damaged = [], []
    for rowid, id_, payload, tombstoned, text_hash, terms, active, checksum in found:
        if is_sound(checksum, id_, text_hash, payload, terms, tombstoned, active):
            rows.append(StoredRow(rowid, id_, payload, tombstoned == 1, text_hash, terms))
        else:
            damaged.append(str(id_))
    return rows, tuple(damaged)


def new_mark(connection: sqlite3.Connection, generation: int) -> None:
    """Name the state that a write leaves the store in. Call inside its transaction."""
    mark = os.urandom(MARK_BYTES)
    connection.execute("INSERT INTO marks (mark, generation) VALUES (?, ?)", (mark, generation))
    connection.execute("DELETE FROM marks WHERE seq <= (SELECT max(seq) FROM marks) - ?", (MOST_MARKS,))
    connection.execute("UPDATE state SET generation = ?, mark = ?", (generation, mark))


def forget_marks(connection: sqlite3.Connection) -> None:
    """Let no earlier state be known any more: its readers read everything again."""
    connection.execute("DELETE FROM marks")


def is_known(connection: sqlite3.Connection, mark: bytes) -> bool:
    """Whether the store once was in the state of that name, and still tells what came since."""
    return connection.execute("SELECT 1 FROM marks WHERE mark = ?", (mark,)).fetchone() is not None
