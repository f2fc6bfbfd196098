"""Brings the index up to date with a collection's folder, in one transaction."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from pathlib import Path
from typing import NamedTuple

from pi_rank.files.foreign import read_foreign
from pi_rank.folding import document_text
from pi_rank.memory.files import SETTLED_NS
from pi_rank.qmd.config import Collection
from pi_rank.qmd.index.chunking import chunks, passages
from pi_rank.qmd.index.index import bump
from pi_rank.qmd.index.scanning import Scan, ScannedFile, scan
from pi_rank.qmd.text import title_of
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store.schema import fold_log, transaction

MAX_FILE_BYTES = 10 << 20  # a larger file is data, not notes; it is skipped and named
BINARY_PROBE_BYTES = 8192
ORPHAN_VECTORS = "WHERE text_hash NOT IN (SELECT text_hash FROM passages)"


class Counts(NamedTuple):
    """What an update did, in files."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    warnings: tuple[str, ...] = ()


class _Known(NamedTuple):
    id: int
    path: str
    size: int
    mtime_ns: int
    hash: str


class _Content(NamedTuple):
    hash: str
    body: str


def update(connection: sqlite3.Connection, collection: Collection, analyzer: FtsAnalyzer) -> Counts:
    """Make the index hold what the collection's folder holds now.

    A file is read only where its size or time differs, or it was written within the clock's step of the last
    reading. The folder is scanned while the pen is held, so that of two updates the later one knows more.
    """
    with transaction(connection, write=True):
        found = scan(Path(collection.path), collection.pattern)
        work = _Update(connection, collection, analyzer, list(found.warnings))
        work.run(found)
        connection.execute("REPLACE INTO updates VALUES (?, ?)", (collection.name, time.time()))
    counts = work.counts()
    if counts.updated or counts.removed:
        fold_log(connection, "words")  # what was deleted leaves the file, or does so with the next one
    return counts


class _Update:
    def __init__(
        self,
        connection: sqlite3.Connection,
        collection: Collection,
        analyzer: FtsAnalyzer,
        warnings: list[str],
    ) -> None:
        self._connection = connection
        self._collection = collection
        self._analyzer = analyzer
        self._warnings = warnings
        self._new = self._updated = self._unchanged = self._removed = 0

    def run(self, found: Scan) -> None:
        rows = self._connection.execute(
            "SELECT id, path, size, mtime_ns, hash FROM files WHERE collection = ?", (self._collection.name,)
        )
        known = {row[1]: _Known._make(row) for row in rows}
        for file in found.files:
            self._file(file, known.pop(file.path, None))
        for old in known.values():
            if _is_under(old.path, found.unreadable):
                self._unchanged += 1
            else:
                self._forget(old)
                self._removed += 1
        if self._new or self._updated or self._removed:
            drop_orphans(self._connection)
            bump(self._connection)

    def counts(self) -> Counts:
        return Counts(self._new, self._updated, self._unchanged, self._removed, tuple(self._warnings))

    def _file(self, file: ScannedFile, known: _Known | None) -> None:
        if known and (known.size, known.mtime_ns) == (file.size, file.mtime_ns):
            self._unchanged += 1
            return
        content = self._read(file)
        if content is None:
            if known:
                self._forget(known)
                self._removed += 1
            return
        settled = time.time_ns() - file.mtime_ns > SETTLED_NS
        # A file written a moment ago may be written again within its clock's step: its time is noted
        # below zero, where it matches none.
        seen = file._replace(mtime_ns=file.mtime_ns if settled else -file.mtime_ns)
        if known and known.hash == content.hash:
            self._connection.execute(
                "UPDATE files SET size = ?, mtime_ns = ? WHERE id = ?", (seen.size, seen.mtime_ns, known.id)
            )
            self._unchanged += 1
            return
        if known:
            self._forget(known)
            self._updated += 1
        else:
            self._new += 1
        add_file(self._connection, self._collection.name, seen, content.hash, content.body, self._analyzer)

    def _read(self, file: ScannedFile) -> _Content | None:
        """The file's content; None, with a warning where one is due, for what is no text or is gone."""
        try:
            if file.size > MAX_FILE_BYTES:
                raise ValueError(f"{file.size:,} bytes; at most {MAX_FILE_BYTES:,} are indexed")
            data = read_foreign(Path(self._collection.path) / file.path, MAX_FILE_BYTES)
            if b"\0" in data[:BINARY_PROBE_BYTES]:
                raise ValueError("binary, or UTF-16; only UTF-8 text is indexed")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._warnings.append(f"{file.path}: skipped ({getattr(error, 'strerror', None) or error})")
            return None
        body = data.decode("utf-8-sig", "replace").replace("\0", "\ufffd")  # SQLite cuts a text at NUL
        return _Content(hashlib.sha256(data).hexdigest(), body) if body.strip() else None

    def _forget(self, known: _Known) -> None:
        forget_file(self._connection, known.id)


def add_file(
    connection: sqlite3.Connection,
    collection: str,
    file: ScannedFile,
    hash_: str,
    body: str,
    analyzer: FtsAnalyzer,
) -> None:
    """Add a file's row, words, chunks and passages."""
    title = title_of(body, file.path)
    row = (collection, file.path, file.size, file.mtime_ns, hash_, title)
    file_id = connection.execute(
        "INSERT INTO files (collection, path, size, mtime_ns, hash, title) VALUES (?, ?, ?, ?, ?, ?)", row
    ).lastrowid
    connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (hash_, body))
    heading = heading_of(title, file.path)
    write_words(connection, file_id or 0, heading, body)
    spans = chunks(body)
    terms = analyzer.document_terms([(body[start:end], heading) for start, end in spans])
    for (start, end), packed in zip(spans, terms, strict=True):
        _add_chunk(connection, file_id or 0, title, body, start, end, packed)


def heading_of(title: str, path: str) -> str:
    """What is searched of a file beside its body."""
    return f"{title} {path}"


def write_words(connection: sqlite3.Connection, file_id: int, heading: str, body: str) -> None:
    """Put a file into the table that FTS5 searches."""
    row = (file_id, document_text(heading), document_text(body))
    connection.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", row)


def _add_chunk(
    connection: sqlite3.Connection, file_id: int, title: str, body: str, start: int, end: int, terms: bytes
) -> None:
    chunk_id = connection.execute(
        "INSERT INTO chunks (file_id, start, end, terms) VALUES (?, ?, ?, ?)", (file_id, start, end, terms)
    ).lastrowid
    connection.executemany(
        "INSERT INTO passages (chunk_id, start, end, text_hash) VALUES (?, ?, ?, ?)",
        [
            (
                chunk_id,
                start + first,
                start + last,
                text_hash(passage_text(title, body[start + first : start + last])),
            )
            for first, last in passages(body[start:end])
        ],
    )


def passage_text(title: str, passage: str) -> str:
    """What is embedded for a passage: what its document is about goes before what it says."""
    return passage.strip() if passage.lstrip("# \t").startswith(title) else f"{title}\n{passage.strip()}"


def text_hash(text: str) -> bytes:
    """Names a text whose vector is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def forget_file(connection: sqlite3.Connection, file_id: int) -> None:
    """Remove a file's row and everything that hangs on it but content and vectors, which others may share."""
    connection.execute(
        "DELETE FROM passages WHERE chunk_id IN (SELECT id FROM chunks WHERE file_id = ?)", (file_id,)
    )
    connection.execute("DELETE FROM chunks WHERE file_id = ?", (file_id,))
    connection.execute("DELETE FROM words WHERE rowid = ?", (file_id,))
    connection.execute("DELETE FROM files WHERE id = ?", (file_id,))


def forget_collection(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """Remove a collection's files: (files removed, contents that no other file has)."""
    ids = [row[0] for row in connection.execute("SELECT id FROM files WHERE collection = ?", (name,))]
    for file_id in ids:
        forget_file(connection, file_id)
    connection.execute("DELETE FROM updates WHERE collection = ?", (name,))
    orphans, _ = drop_orphans(connection)
    bump(connection)
    return len(ids), orphans


def drop_orphans(connection: sqlite3.Connection) -> tuple[int, int]:
    """Remove what is no longer in any file: (contents, vectors)."""
    contents = connection.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM files)").rowcount
    vectors = connection.execute(f"DELETE FROM vectors {ORPHAN_VECTORS}").rowcount
    return contents, vectors


def _is_under(path: str, unreadable: list[str]) -> bool:
    return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in unreadable)
