"""Whether the store holds what was written to it: what SQLite's own check of its pages cannot tell."""

from __future__ import annotations

import hashlib
import sqlite3
from binascii import crc32
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from pi_rank.errors import RecordError
from pi_rank.memory.records import decode_stored

MARK_BYTES = 16
MOST_NAMED = 5  # ids of one kind of damage


class State(NamedTuple):
    """Where the store is: see the table `state`."""

    generation: int
    mark: bytes
    complete_from: int
    records: int
    warnings: tuple[str, ...]


def row_checksum(
    id_: str, text_hash: bytes, payload: bytes, terms: bytes, tombstoned: int, active: int
) -> int:
    """CRC-32 of what a row of `records` says."""
    return crc32(payload, crc32(terms, crc32(text_hash, crc32(id_.encode(), 2 * tombstoned + active))))


def is_sound(checksum: object, *row: Any) -> bool:  # noqa: ANN401
    """Whether a row of `records` (the arguments of `row_checksum`) is what was written."""
    try:
        return row_checksum(*row) == checksum
    except (TypeError, AttributeError, ValueError, OverflowError):  # not even of the right type
        return False


def content_hash(payload: bytes, tombstoned: bool) -> bytes:
    """The mark is part of the content: a record that is deleted, or brought back, is a changed record."""
    return hashlib.blake2b(payload, digest_size=16, key=b"tombstoned" if tombstoned else b"").digest()


def state_row(connection: sqlite3.Connection, columns: str) -> tuple[Any, ...]:
    """These columns of the one row of `state`.

    :raises sqlite3.DatabaseError: there is no such row.
    """
    found: tuple[Any, ...] | None = connection.execute(f"SELECT {columns} FROM state").fetchone()
    if found is None:
        raise sqlite3.DatabaseError("its table of state is empty")
    return found


def read_json(text: str, type_: Any) -> Any:  # noqa: ANN401
    """JSON that the store keeps.

    :raises sqlite3.DatabaseError: it is not what was written.
    """
    try:
        return msgspec.json.decode(text, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise sqlite3.DatabaseError(f"what it keeps of the last sync is not readable: {error}") from None


def check_state(connection: sqlite3.Connection) -> State:
    """The store's state, which its own parts agree about.

    :raises sqlite3.DatabaseError: they do not.
    """
    generation, mark, complete_from, records, warnings = state_row(
        connection, "generation, mark, complete_from, records, warnings"
    )
    marked = connection.execute("SELECT generation FROM marks WHERE mark = ?", (mark,)).fetchone()
    if marked != (generation,) or type(mark) is not bytes or len(mark) != MARK_BYTES:
        raise sqlite3.DatabaseError("its state is not of the generation that it says")
    if not (type(complete_from) is type(records) is int and 0 <= complete_from <= generation):
        raise sqlite3.DatabaseError("its table of state holds what was never written")
    return State(generation, mark, complete_from, records, read_json(warnings, tuple[str, ...]))


def check_names(connection: sqlite3.Connection) -> None:
    """The store's own name, its root and its models are texts.

    :raises sqlite3.DatabaseError: they are not.
    """
    for value in state_row(connection, "uuid, root, model, answering_model"):
        if type(value) is not str:
            raise sqlite3.DatabaseError("its table of state holds what was never written")


def record_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the rows of records, a sentence for each kind."""
    bad: list[str] = []
    count = 0
    for id_, payload, tombstoned, text_hash, terms, active, hash_, checksum in connection.execute(
        "SELECT id, payload, tombstoned, text_hash, terms, active, content_hash, checksum FROM records"
    ):
        count += 1
        try:
            decode_stored(payload)
            sound = row_checksum(id_, text_hash, payload, terms, tombstoned, active) == checksum
            sound = sound and content_hash(payload, bool(tombstoned)) == hash_
        except (RecordError, TypeError, AttributeError, ValueError, OverflowError):
            sound = False
        if not sound:
            bad.append(str(id_))
    if bad:
        yield f"{len(bad)} records are not what was written ({named(bad)})"
    if (kept := state_row(connection, "records")[0]) != count:
        yield f"it has {count} records instead of {kept}"


def vector_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the vectors, a sentence for each model."""
    sizes: dict[str, Counter[int]] = {}
    bad: Counter[str] = Counter()
    for model, vector, checksum in connection.execute("SELECT model_id, vector, checksum FROM vectors"):
        if type(vector) is bytes and crc32(vector) == checksum and len(vector) % 4 == 0:
            sizes.setdefault(str(model), Counter())[len(vector)] += 1
        else:
            bad[str(model)] += 1
    for model, lengths in sizes.items():
        bad[model] += lengths.total() - lengths.most_common(1)[0][1]
    for model, number in sorted(bad.items()):
        if number:
            yield f"{number} vectors of {model} are not what was written"


def named(ids: list[str] | tuple[str, ...]) -> str:
    """Some of the ids, for a sentence."""
    more = len(ids) - MOST_NAMED
    return ", ".join(ids[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
