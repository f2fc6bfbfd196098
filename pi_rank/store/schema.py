"""The store's file: its tables, how it is opened and known as ours, its transactions and SQLite's errors."""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.folding import TOKENIZER
from pi_rank.store.holders import holder_of
from pi_rank.store.places import APPLICATION_ID, make_place, new_name, was_ours

SCHEMA_VERSION = 5
UPGRADED_VERSION = 4  # is made this one when it is opened: the words are taken anew from the records
BUSY_SECONDS = 30.0
SILENT_SECONDS = 0.5  # of waiting, before it is said for whom
REBUILD = "`pi-rank rebuild` makes a new store from the memory files"

_LEAST_BYTES = 512  # of a page
# Holds statements and tags as `pi_rank.folding.document_text` cuts them.
WORDS_TABLE = f'CREATE VIRTUAL TABLE records_fts USING fts5(statement, tags, tokenize = "{TOKENIZER}")'
_TABLES = {"state", "records", "records_fts", "removed", "tombstones", "pieces", "vectors"}


class DamagedStoreError(StoreError):
    """The file is there and is not, or no longer, a readable SQLite file."""


class BusyStoreError(StoreError):
    """Another process has held the store for longer than one was ready to wait."""


class _OldStoreError(Exception):
    """The store is of the version before, which can be made this one."""


class ForeignFileError(StoreVersionError):
    """The file is another program's."""


_SCHEMA = (
    # generation: goes up with each sync that changed something. complete_from: `removed` is complete for
    # readers of this generation or a later one. root: the memory root that this is of, empty before the
    # first sync. mark: the present one, see store/rows.py. records: how many there are. model,
    # answering_model: see store/model.py. pieces_check: see store/pieces.py; empty where nothing is kept.
    # skipped, warnings: the last sync's report, as JSON; last, because they may be long.
    """CREATE TABLE state (
        uuid TEXT NOT NULL,
        generation INTEGER NOT NULL,
        complete_from INTEGER NOT NULL,
        mark BLOB NOT NULL,
        records INTEGER NOT NULL,
        root TEXT NOT NULL,
        model TEXT NOT NULL,
        answering_model TEXT NOT NULL,
        pieces_check BLOB NOT NULL,
        skipped TEXT NOT NULL,
        warnings TEXT NOT NULL
    )""",
    "CREATE TABLE marks (seq INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE, generation INTEGER NOT NULL)",
    """CREATE TABLE files (
        file TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, digest BLOB, settled INTEGER, inode INTEGER,
        tail BLOB
    ) WITHOUT ROWID""",
    # content: a PieceContent as JSON.
    """CREATE TABLE pieces (
        file TEXT NOT NULL, digest BLOB NOT NULL, content BLOB NOT NULL, PRIMARY KEY (file, digest)
    ) WITHOUT ROWID""",
    # AUTOINCREMENT: a row number is never used again, so that a removed row cannot be taken for a new one.
    """CREATE TABLE records (
        rowid INTEGER PRIMARY KEY AUTOINCREMENT,
        generation INTEGER NOT NULL,
        id TEXT NOT NULL UNIQUE,
        file TEXT NOT NULL,
        content_hash BLOB NOT NULL,
        text_hash BLOB NOT NULL,
        tombstoned INTEGER NOT NULL,
        active INTEGER NOT NULL,
        payload BLOB NOT NULL,
        terms BLOB NOT NULL,
        checksum INTEGER NOT NULL         -- see store/checks.py
    )""",
    "CREATE INDEX records_by_generation ON records (generation)",
    # With `active`, so that looking for texts without a vector reads the index alone.
    "CREATE INDEX records_by_text ON records (text_hash, active)",
    "CREATE TABLE removed (rowid INTEGER PRIMARY KEY, generation INTEGER NOT NULL)",
    "CREATE INDEX removed_by_generation ON removed (generation)",
    "CREATE TABLE tombstones (id TEXT PRIMARY KEY) WITHOUT ROWID",
    WORDS_TABLE,
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        model_id TEXT NOT NULL,
        text_hash BLOB NOT NULL,
        vector BLOB NOT NULL,             -- float32, little-endian
        checksum INTEGER NOT NULL,        -- CRC-32 of it
        UNIQUE (model_id, text_hash)
    )""",
)


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """A connection to the store at `path`, made on first use unless `read_only`.

    :raises StoreVersionError: the file is of another schema version.
    :raises ForeignFileError: it is another program's, or the user's own.
    :raises StoreError: it cannot be opened or made.
    """
    try:
        with translated(path):
            _require_size(path)
            try:
                return _connect_read_only(path) if read_only else _connect(path)
            except _OldStoreError:
                _upgrade(path)
            return _connect_read_only(path) if read_only else _connect(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(
            f"the store {path} cannot be opened ({why}); name another with --store or PI_RANK_CACHE_DIR"
        ) from None
    except DamagedStoreError as error:
        if was_ours(path):
            raise
        raise ForeignFileError(
            f"{path} is no store of pi_rank and is left alone; name another file with --store. "
            "If it was one, move it away and sync"
        ) from error


def _upgrade(path: Path) -> None:
    """Make a store of UPGRADED_VERSION one of this version, in one transaction; others wait meanwhile."""
    from pi_rank.ranking.analysis import FtsAnalyzer  # a store that is no older needs neither
    from pi_rank.store.sync import take_words_anew

    connection = _open(path.absolute().as_uri() + "?mode=rw", uri=True)
    try:
        with transaction(connection, write=True):
            if _identity(connection)[1] == UPGRADED_VERSION:  # else another process was first
                take_words_anew(connection, FtsAnalyzer())
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    finally:
        connection.close()


def _require_size(path: Path) -> None:
    """SQLite takes a file with less in it than a header for an empty one, and would write over it."""
    try:
        size = path.stat().st_size
    except OSError:
        return
    if 0 < size < _LEAST_BYTES:
        raise sqlite3.DatabaseError("file is not a database")


def _connect(path: Path) -> sqlite3.Connection:
    try:
        make_place(path)
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be made ({error.strerror}); "
            "name another with --store or PI_RANK_CACHE_DIR"
        ) from error
    connection = _open(str(path))
    try:
        if not _is_ours(connection, path):
            _use_wal(connection)
            _create(connection, path)
        _use_wal(connection)
        # A power cut may cost the last sync, and never leaves half of one.
        connection.execute("PRAGMA synchronous = NORMAL")
        # What is deleted is overwritten, not only let go.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """All or nothing; a write waits its turn behind other processes' writes, a read sees one version."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    with _all_or_nothing(connection):
        yield


def fold_log(connection: sqlite3.Connection, words: str | None = None) -> bool:
    """Fold the write-ahead log into the file and empty it; False where somebody reads or writes just now.

    :param words: an FTS5 table that is to forget the words of deleted rows before.
    """
    patience = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        if words is not None:
            forget_words(connection, words)
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")
    return not busy


def forget_words(connection: sqlite3.Connection, table: str) -> None:
    """Write an FTS5 index anew: what is deleted from it stays readable until segments are merged."""
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


@contextmanager
def patient_write(connection: sqlite3.Connection, path: Path, patience: float) -> Iterator[None]:
    """A transaction that writes. Who waits for more than `SILENT_SECONDS` is told for whom.

    :raises BusyStoreError: the store was held by another process for `patience` seconds.
    """
    silent = min(patience, SILENT_SECONDS)
    if not _begun(connection, silent):
        holder = holder_of(path)
        if patience > silent:
            warnings.warn(f"waiting for {holder}, which holds the store {path}", RuntimeWarning, stacklevel=5)
        if patience <= silent or not _begun(connection, patience - silent):
            raise BusyStoreError(
                f"the store {path} has been in use by {holder} for {patience:g} seconds; try again"
            )
    with _all_or_nothing(connection):
        yield


def _begun(connection: sqlite3.Connection, seconds: float) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {max(0, int(seconds * 1000))}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    return True


@contextmanager
def _all_or_nothing(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has already rolled back where the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors, and what cannot be decoded, as a StoreError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    except Exception as error:
        import msgspec  # where it can raise, it is loaded; a search by words alone never loads it

        if not isinstance(error, msgspec.MsgspecError | UnicodeDecodeError):
            raise
        raise store_error(path, sqlite3.DatabaseError(str(error))) from error


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """What an error of SQLite's is to a user of the store."""
    meaning = _meaning(str(error))
    # A header that says so makes SQLite read a file only that anybody might write.
    if meaning is None or (
        "readonly" in str(error) and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    ):
        return DamagedStoreError(f"the store {path} is damaged ({error}); {REBUILD}")
    return StoreError(f"the store {path} {meaning}")


def _meaning(message: str) -> str | None:
    """What an error of the surroundings means; None for one of the file itself."""
    if "fts5" in message or "unterminated" in message:
        return f"does not understand the search ({message})"
    if "full" in message or "I/O error" in message:
        return f"could not be written ({message}) and is as it was; make room on the disk and sync again"
    if "readonly" in message:
        return "may not be written to; name another with --store or PI_RANK_CACHE_DIR"
    if "locked" in message:
        return f"has been in use by another process for {BUSY_SECONDS:.0f} seconds; try again"
    if "unable to open" in message:
        return f"cannot be opened ({message}); name another with --store or PI_RANK_CACHE_DIR"
    return None


def _open(name: str, *, uri: bool = False) -> sqlite3.Connection:
    # isolation_level None: transactions begin and end where this package says so, and nowhere else
    return sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreError(f"there is no store at {path}; `pi-rank sync` makes one")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = _open(uri, uri=True)
    try:
        ours = _is_ours(connection, path)
    except sqlite3.OperationalError:
        connection.close()
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size:  # an empty one is left where there was no room to open it
            raise
        # Nobody is writing and the folder does not let us make WAL's shared memory: read the bare file.
        connection = _open(f"{uri}&immutable=1", uri=True)
        ours = _is_ours(connection, path)
    if not ours:
        raise StoreError(f"there is nothing in the store {path}; `pi-rank sync` fills it")
    return connection


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """True for a store of this version, False for an empty file. Changes nothing: it may be another's."""
    if connection.in_transaction:
        application_id, version, tables = _identity(connection)
    else:  # all of one moment: another process may be making the store
        with transaction(connection, write=False):
            application_id, version, tables = _identity(connection)
    if application_id == APPLICATION_ID:
        if version == UPGRADED_VERSION:
            raise _OldStoreError
        if version != SCHEMA_VERSION:
            raise StoreVersionError(
                f"the store {path} has schema version {version}, not {SCHEMA_VERSION} as here; {REBUILD}"
            )
        return True
    if tables >= _TABLES:
        raise sqlite3.DatabaseError("its header does not say that it is one")
    if application_id or version or tables:
        raise ForeignFileError(
            f"{path} is another program's SQLite file and is left alone; name another store with --store, "
            "in which `pi-rank rebuild` can work"
        )
    return False


def _identity(connection: sqlite3.Connection) -> tuple[int, int, set[str]]:
    """Application id, schema version, and names of tables and indexes."""
    return (
        connection.execute("PRAGMA application_id").fetchone()[0],
        connection.execute("PRAGMA user_version").fetchone()[0],
        {name for (name,) in connection.execute("SELECT name FROM sqlite_master")},
    )


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL. The switch does not wait for other processes by itself, so wait for it here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def _create(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection, write=True):
        if _is_ours(connection, path):
            return  # another process was first
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO state VALUES (?, 0, 0, x'', 0, '', 'default', 'default', x'', '[]', '[]')",
            (new_name(),),
        )
        from pi_rank.store.rows import new_mark  # which decodes; a search by words alone does not

        new_mark(connection, 0)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
