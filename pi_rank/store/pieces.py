"""What the store keeps of the pieces of the memory files, so that the next sync need not decode them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict

import msgspec

from pi_rank.memory.contents import KnownContents, Pieces, RootContents
from pi_rank.memory.pieces import PieceContent
from pi_rank.memory.records import DECODING_VERSION
from pi_rank.store.checks import state_row
from pi_rank.store.kept import read_tombstones

# What else decides how a line is decoded, and what is said of one that cannot be used.
_DECODING = f"{DECODING_VERSION} {msgspec.__version__}"
_decode = msgspec.json.Decoder(PieceContent).decode
_encode = msgspec.json.Encoder().encode
_Rows = list[tuple[str, bytes, bytes]]


def read_known(connection: sqlite3.Connection) -> KnownContents | None:
    """What the last sync found; None where it must not be relied on, and everything be decoded and compared.

    That is where a file could not be read, where the pieces are not what was written or were decoded by
    other rules, and where records have come or gone since.
    """
    rows = connection.execute("SELECT file, digest, content FROM pieces ORDER BY file, digest").fetchall()
    if state_row(connection, "pieces_check")[0] != _check(connection, rows):
        return None
    pieces: dict[str, dict[bytes, PieceContent]] = defaultdict(dict)
    for file, digest, content in rows:
        pieces[file][digest] = _decode(content)
    return KnownContents(pieces, read_tombstones(connection))


def write_known(connection: sqlite3.Connection, contents: RootContents) -> None:
    """Keep what a sync found for the next one. Call when the records are written."""
    rows = _rows(contents.pieces)
    if contents.touched is None:
        connection.execute("DELETE FROM pieces")
    stored = set(connection.execute("SELECT file, digest FROM pieces"))
    gone = stored.difference(row[:2] for row in rows)
    connection.executemany("DELETE FROM pieces WHERE file = ? AND digest = ?", gone)
    new = (row for row in rows if row[:2] not in stored)
    connection.executemany("INSERT INTO pieces VALUES (?, ?, ?)", new)
    # Of a file that cannot be read there are records, and no pieces.
    check = b"" if contents.unreadable else _check(connection, rows)
    connection.execute("UPDATE state SET pieces_check = ?", (check,))


def _rows(pieces: Pieces) -> _Rows:
    return sorted(
        (file, digest, _encode(content))
        for file, of_file in pieces.items()
        for digest, content in of_file.items()
    )


def _check(connection: sqlite3.Connection, rows: _Rows) -> bytes:
    """SHA-256 over the rows, which are in order, the rules that made them, and how much they gave."""
    counts = connection.execute("SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM tombstones)")
    return hashlib.sha256(msgspec.msgpack.encode((_DECODING, counts.fetchone(), rows))).digest()
