"""One sync: what the memory files say now, against what the store holds, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from pi_rank.errors import StoreError
from pi_rank.folding import document_text
from pi_rank.memory.contents import TOMBSTONES, RootContents, RootFiles, Skipped, SourcedRecord, decode_files
from pi_rank.memory.files import Fingerprint
from pi_rank.memory.records import decode_stored, encode_record, tags_text, text_hash
from pi_rank.results import SyncReport
from pi_rank.store.checks import content_hash, is_sound, read_json, row_checksum, state_row
from pi_rank.store.kept import (
    STAYS_DELETED,
    is_under,
    read_tombstones,
    require_tombstones,
    root_name,
    unsure_of_tombstones,
)
from pi_rank.store.pieces import read_known, write_known
from pi_rank.store.rows import forget_marks, new_mark
from pi_rank.store.schema import WORDS_TABLE

_ALL_WORDS = "SELECT rowid, id, text_hash, payload, terms, tombstoned, active, checksum FROM records"
_KNOWN_ROWS = "SELECT id, rowid, content_hash, file, text_hash FROM records"
# The vectors' index leads with the model: named one by one, no vector of another text is looked at.
_DROP_ORPHANS = """
    WITH RECURSIVE models (name) AS (
        SELECT min(model_id) FROM vectors
        UNION ALL
        SELECT (SELECT min(model_id) FROM vectors WHERE model_id > name) FROM models WHERE name IS NOT NULL
    )
    DELETE FROM vectors WHERE text_hash = ?1 AND model_id IN (SELECT name FROM models)
        AND NOT EXISTS (SELECT 1 FROM records WHERE text_hash = ?1)"""
ANALYSIS_CHUNK = 2_000  # documents handed to the analyzer at once
MOST_REMOVED = 50_000  # rows of the removal log; past it, readers that are behind read everything again


class Analyzer(Protocol):
    """What turns a document into the terms that BM25 counts."""

    def document_terms(self, texts: Sequence[tuple[str, str]]) -> list[bytes]:
        """Packed terms of each (statement, tags) pair, in order."""


class _Incoming(NamedTuple):
    source: SourcedRecord
    payload: bytes
    tombstoned: bool
    content_hash: bytes


class _Known(NamedTuple):
    id: str
    rowid: int
    content_hash: bytes
    file: str
    text_hash: bytes


class _Changes(NamedTuple):
    added: list[_Incoming]
    changed: list[_Incoming]
    gone: list[_Known]  # rows to take out: those of removed records, and the old ones of changed records
    moved: list[tuple[str, int]]  # new file, rowid


def apply_files(connection: sqlite3.Connection, files: RootFiles, analyzer: Analyzer) -> SyncReport:
    """Make the store hold what is in the files, decoding only what the last sync did not see.

    Call inside a write transaction, in which what the last sync left stays what it is.

    :raises StoreError: the store is of another memory root.
    :raises MemoryRootError: the deletion markers cannot be read, and never were.
    """
    return apply_contents(connection, decode_files(files, read_known(connection)), analyzer)


def apply_contents(connection: sqlite3.Connection, contents: RootContents, analyzer: Analyzer) -> SyncReport:
    """Make the store hold what `contents` says. Call inside a write transaction.

    :raises StoreError, MemoryRootError: as `apply_files`.
    """
    generation = _check_root(connection, contents)
    tombstones = _update_tombstones(connection, contents)
    changes = _compare(connection, contents, tombstones)
    lost = _forget_lost_rows(connection)
    changed = bool(changes.added or changes.changed or changes.gone or lost)
    if changed:
        generation += 1
        _remove(connection, changes.gone, generation)
        _insert(connection, [*changes.added, *changes.changed], analyzer, generation)
        _drop_orphan_vectors(connection, {known.text_hash for known in changes.gone})
    connection.executemany("UPDATE records SET file = ? WHERE rowid = ?", changes.moved)
    write_known(connection, contents)
    if _write_report(connection, contents) or changed:
        new_mark(connection, generation)
    return SyncReport(
        added=len(changes.added),
        changed=len(changes.changed),
        removed=len(changes.gone) - len(changes.changed),
        unchanged=count_records(connection) - len(changes.added) - len(changes.changed),
        generation=generation,
        skipped=tuple(contents.skipped),
        warnings=tuple(contents.warnings),
    )


def forget_records(connection: sqlite3.Connection, root: Path) -> None:
    """Drop everything but the vectors, so that `apply_contents` starts from nothing; readers then reload."""
    for table in ("records", "records_fts", "removed", "tombstones", "files", "pieces"):
        connection.execute(f"DELETE FROM {table}")
    forget_marks(connection)
    connection.execute("UPDATE state SET root = ?, generation = generation + 1", (root_name(root),))
    connection.execute("UPDATE state SET complete_from = generation")


def take_words_anew(connection: sqlite3.Connection, analyzer: Analyzer) -> None:
    """Take the words of all records as they are folded and cut now. Call inside a write transaction.

    Whoever reads the store then reads all of it. Vectors stay. A row that is not what was written is left as
    it is, and is found to be damaged as before.
    """
    connection.execute("DROP TABLE records_fts")
    connection.execute(WORDS_TABLE)
    rows = [row for row in connection.execute(_ALL_WORDS).fetchall() if is_sound(row[7], *row[1:7])]
    for start in range(0, len(rows), ANALYSIS_CHUNK):
        chunk = rows[start : start + ANALYSIS_CHUNK]
        records = [decode_stored(row[3]) for row in chunk]
        texts = [(record.statement, tags_text(record)) for record in records]
        changed = []
        for row, terms in zip(chunk, analyzer.document_terms(texts), strict=True):
            rowid, id_, text, payload, _, tombstoned, active, _ = row
            changed.append((terms, row_checksum(id_, text, payload, terms, tombstoned, active), rowid))
        connection.executemany("UPDATE records SET terms = ?, checksum = ? WHERE rowid = ?", changed)
        write_words(connection, [row[0] for row in chunk], texts)
    connection.execute("UPDATE state SET generation = generation + 1")
    connection.execute("UPDATE state SET complete_from = generation")
    new_mark(connection, *state_row(connection, "generation"))


def last_report(connection: sqlite3.Connection) -> SyncReport:
    """What the last sync reported, for a root that has not changed since."""
    generation, records, skipped, warnings = state_row(connection, "generation, records, skipped, warnings")
    return SyncReport(
        unchanged=records,
        generation=generation,
        skipped=read_json(skipped, tuple[Skipped, ...]),
        warnings=read_json(warnings, tuple[str, ...]),
    )


def count_records(connection: sqlite3.Connection) -> int:
    """How many rows of records there are."""
    return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


def read_fingerprints(connection: sqlite3.Connection) -> dict[str, Fingerprint]:
    """What the files looked like at the last sync."""
    rows = connection.execute("SELECT file, size, mtime_ns, digest, settled, inode, tail FROM files")
    return {file: Fingerprint(*seen) for file, *seen in rows}


def write_fingerprints(connection: sqlite3.Connection, fingerprints: Mapping[str, Fingerprint]) -> None:
    """Remember what the files looked like."""
    connection.execute("DELETE FROM files")
    rows = ((file, *fingerprint) for file, fingerprint in fingerprints.items())
    connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _check_root(connection: sqlite3.Connection, contents: RootContents) -> int:
    """The store's generation, once it is sure that the store is of this root."""
    generation, root = state_row(connection, "generation, root")
    require_tombstones(contents, known=bool(root))
    if root not in ("", root_name(contents.root)):
        raise StoreError(
            f"this store is of the memory root {root}, not of {contents.root}; name another store, "
            "or use `pi-rank rebuild` if the folder has moved"
        )
    if type(generation) is not int:
        raise sqlite3.DatabaseError("its table of state holds what was never written")
    return generation


def _forget_lost_rows(connection: sqlite3.Connection) -> bool:
    """Whether rows went that no sync took out: then readers, who may hold them, read everything again."""
    lost = bool(state_row(connection, "records")[0] != count_records(connection))
    if lost:
        forget_marks(connection)
    return lost


def _update_tombstones(connection: sqlite3.Connection, contents: RootContents) -> frozenset[str]:
    """The tombstones in force: where the file, or a line of it, cannot be read, also those known before."""
    known, now = read_tombstones(connection), contents.tombstones
    if known - now and unsure_of_tombstones(contents):
        if not is_under(TOMBSTONES, contents.unreadable):
            contents.warnings.append(STAYS_DELETED)
        now |= known
    connection.executemany("DELETE FROM tombstones WHERE id = ?", ((id_,) for id_ in known - now))
    connection.executemany("INSERT INTO tombstones VALUES (?)", ((id_,) for id_ in now - known))
    return now


def _compare(connection: sqlite3.Connection, contents: RootContents, tombstones: frozenset[str]) -> _Changes:
    known = _known_rows(connection, contents.touched)
    added, changed, gone, moved = [], [], [], []
    for source in contents.records:
        record, file, _ = source
        payload = encode_record(record)
        tombstoned = record.id in tombstones
        hash_ = content_hash(payload, tombstoned)
        old = known.pop(record.id, None)
        if old is None:
            added.append(_Incoming(source, payload, tombstoned, hash_))
        elif old.content_hash != hash_:
            changed.append(_Incoming(source, payload, tombstoned, hash_))
            gone.append(old)
        elif old.file != file:
            moved.append((file, old.rowid))
    gone.extend(old for old in known.values() if not is_under(old.file, contents.unreadable))
    return _Changes(added, changed, gone, moved)


def _known_rows(connection: sqlite3.Connection, touched: Iterable[str] | None) -> dict[str, _Known]:
    """The rows of these ids, by id; None: all rows."""
    if touched is None:
        return {row[0]: _Known._make(row) for row in connection.execute(_KNOWN_ROWS)}
    found = (connection.execute(f"{_KNOWN_ROWS} WHERE id = ?", (id_,)).fetchone() for id_ in touched)
    return {row[0]: _Known._make(row) for row in found if row}


def _remove(connection: sqlite3.Connection, gone: Sequence[_Known], generation: int) -> None:
    rowids = [(known.rowid,) for known in gone]
    connection.executemany("DELETE FROM records WHERE rowid = ?", rowids)
    connection.executemany("DELETE FROM records_fts WHERE rowid = ?", rowids)
    connection.executemany(f"INSERT INTO removed VALUES (?, {generation})", rowids)
    if connection.execute("SELECT count(*) FROM removed").fetchone()[0] > MOST_REMOVED:
        connection.execute("DELETE FROM removed")
        connection.execute("UPDATE state SET complete_from = ?", (generation,))


def _insert(
    connection: sqlite3.Connection, incoming: Sequence[_Incoming], analyzer: Analyzer, generation: int
) -> None:
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").fetchone()
    rowid = last[0] + 1 if last else 1
    for start in range(0, len(incoming), ANALYSIS_CHUNK):
        chunk = incoming[start : start + ANALYSIS_CHUNK]
        texts = [(item.source.record.statement, tags_text(item.source.record)) for item in chunk]
        rowids = range(rowid + start, rowid + start + len(chunk))
        rows = map(_row, rowids, chunk, analyzer.document_terms(texts))
        connection.executemany(f"INSERT INTO records VALUES (?, {generation}{', ?' * 9})", rows)
        write_words(connection, rowids, texts)


def write_words(
    connection: sqlite3.Connection, rowids: Iterable[int], texts: Iterable[tuple[str, str]]
) -> None:
    """Put rows' statements and tags into the table that FTS5 searches."""
    documents = (
        (number, document_text(statement), document_text(tags))
        for number, (statement, tags) in zip(rowids, texts, strict=True)
    )
    connection.executemany("INSERT INTO records_fts (rowid, statement, tags) VALUES (?, ?, ?)", documents)


def _row(rowid: int, item: _Incoming, terms: bytes) -> tuple[object, ...]:
    record, file, _ = item.source
    active = record.status == "active" and not item.tombstoned
    text = text_hash(record)
    checksum = row_checksum(record.id, text, item.payload, terms, item.tombstoned, active)
    hashes = item.content_hash, text
    return rowid, record.id, file, *hashes, item.tombstoned, active, item.payload, terms, checksum


def _drop_orphan_vectors(connection: sqlite3.Connection, text_hashes: Iterable[bytes]) -> None:
    connection.executemany(_DROP_ORPHANS, ((text_hash_,) for text_hash_ in text_hashes))


def _write_report(connection: sqlite3.Connection, contents: RootContents) -> bool:
    """Whether there is something else to warn of than at the last sync, which every turn then says."""
    warnings = msgspec.json.encode(contents.warnings).decode()
    before = state_row(connection, "warnings")[0]
    connection.execute(
        "UPDATE state SET root = ?, records = ?, skipped = ?, warnings = ?",
        (
            root_name(contents.root),
            count_records(connection),
            msgspec.json.encode(contents.skipped).decode(),
            warnings,
        ),
    )
    write_fingerprints(connection, contents.fingerprints)
    return bool(warnings != before)
