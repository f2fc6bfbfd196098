"""The index of Markdown collections: one SQLite file that can always be made again from the files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_rank.files.private import open_private, refuse_planted
from pi_rank.folding import TOKENIZER
from pi_rank.qmd.errors import IndexFileError
from pi_rank.store.places import BESIDE
from pi_rank.store.schema import transaction

APPLICATION_ID = 0x50495251  # "PIRQ"
SCHEMA_VERSION = 2
UPGRADED_VERSION = 1  # is made this one when it is opened
BUSY_SECONDS = 60.0  # an update of many files holds the pen for long; readers never wait for it

# AUTOINCREMENT: a number is never used again, so that a warm process can tell new rows from old ones.
# Holds titles and bodies as `pi_rank.folding.document_text` cuts them.
WORDS_TABLE = f'CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize = "{TOKENIZER}")'
_SCHEMA = (
    "CREATE TABLE state (uuid TEXT NOT NULL, generation INTEGER NOT NULL)",
    "CREATE TABLE updates (collection TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID",
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        collection TEXT NOT NULL,
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        hash TEXT NOT NULL,               -- sha256 of the file's bytes
        title TEXT NOT NULL,
        UNIQUE (collection, path)
    )""",
    "CREATE INDEX files_by_hash ON files (hash)",
    "CREATE TABLE contents (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    # Equal weights and FTS5's own formula, as in the store of a memory root.
    WORDS_TABLE,
    """CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file_id INTEGER NOT NULL,
        start INTEGER NOT NULL,           -- characters of the body
        end INTEGER NOT NULL,
        terms BLOB NOT NULL
    )""",
    "CREATE INDEX chunks_by_file ON chunks (file_id)",
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        text_hash BLOB NOT NULL
    )""",
    "CREATE INDEX passages_by_chunk ON passages (chunk_id)",
    "CREATE INDEX passages_by_text ON passages (text_hash)",
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        model_id TEXT NOT NULL,
        text_hash BLOB NOT NULL,
        vector BLOB NOT NULL,             -- float32, little-endian
        UNIQUE (model_id, text_hash)
    )""",
)


def open_index(path: Path, *, create: bool = False) -> sqlite3.Connection | None:
    """A connection to the index; None where there is no file and `create` does not ask for one.

    :raises IndexFileError: it cannot be opened or made, is damaged, of another version or another program's.
    """
    if not create and not path.is_file():
        return None
    with translated(path):
        _refuse_planted(path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise IndexFileError(
                f"The index folder {path.parent} cannot be made: {error.strerror}"
            ) from error
        if create:
            _make_file(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _refuse_planted(path)  # nor while it was opened
            if create:
                _make(connection, path)
            elif not _is_ours(connection, path):
                connection.close()
                return None
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten, not only let go
        except BaseException:
            connection.close()
            raise
        return connection


def _refuse_planted(path: Path) -> None:
    try:
        for ending in BESIDE:
            refuse_planted(path.with_name(path.name + ending))
    except OSError as error:
        raise IndexFileError(f"{error.strerror}; name another with INDEX_PATH.") from error


def _make_file(path: Path) -> None:
    """The file itself, for its owner alone, before SQLite makes one for everybody; its helpers follow it."""
    try:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    except OSError as error:
        raise IndexFileError(f"The index {path} cannot be made: {error.strerror or error}") from error


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as an IndexFileError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise IndexFileError(f"The index {path} {_meaning(str(error))}") from error


def _meaning(message: str) -> str:
    if "locked" in message:
        return f"has been in use by another process for {BUSY_SECONDS:.0f} seconds; try again."
    if "full" in message or "I/O error" in message:
        return f"could not be written ({message}) and is as it was; make room on the disk and update again."
    if "readonly" in message or "unable to open" in message:
        return f"cannot be opened or written ({message}); set INDEX_PATH to a place that can."
    return f"is damaged ({message}); delete it and run 'qmd update': it is made again from your files."


def generation(connection: sqlite3.Connection) -> int:
    """Goes up with each update that changed something, by whichever process."""
    return int(connection.execute("SELECT generation FROM state").fetchone()[0])


def bump(connection: sqlite3.Connection) -> None:
    """Say that rows have changed. Call inside a write transaction."""
    connection.execute("UPDATE state SET generation = generation + 1")


def _make(connection: sqlite3.Connection, path: Path) -> None:
    if not _is_ours(connection, path):
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection, write=True):
            if not _is_ours(connection, path):  # else another process was first
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO state VALUES (?, 0)", (os.urandom(16).hex(),))
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    # A power cut may cost the last update, never half of one.
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """True for an index of this version, False for an empty file."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application_id == APPLICATION_ID and version == SCHEMA_VERSION:
        return True
    if application_id == APPLICATION_ID and version == UPGRADED_VERSION:
        _upgrade(connection)
        return True
    if application_id == APPLICATION_ID:
        raise IndexFileError(
            f"The index {path} is of version {version}, not {SCHEMA_VERSION}; "
            "delete it and run 'qmd update': it is made again from your files."
        )
    if application_id or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise IndexFileError(
            f"{path} is another program's file and is left alone; set INDEX_PATH to another."
        )
    return False


def _upgrade(connection: sqlite3.Connection) -> None:
    from pi_rank.qmd.index.upgrade import upgrade  # which analyses

    with transaction(connection, write=True):
        if connection.execute("PRAGMA user_version").fetchone()[0] == UPGRADED_VERSION:
            upgrade(connection)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
