"""What is known of memory files that cannot be read now: it stays when a store is filled anew."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

import msgspec

from pi_rank.errors import MemoryRootError, RecordError, StoreError
from pi_rank.memory.contents import TOMBSTONES, RootContents, SourcedRecord
from pi_rank.memory.records import decode_stored
from pi_rank.store.checks import content_hash, state_row

STAYS_DELETED = f"{TOMBSTONES} has a line that is not usable: what was deleted stays so"


class Kept(NamedTuple):
    """The last good state of files that cannot be read. `lost`: ids of which the store's copy is damaged."""

    records: list[SourcedRecord]
    tombstones: frozenset[str]
    lost: list[str]


def is_under(file: str, unreadable: frozenset[str]) -> bool:
    """Whether the file, or a folder that it is in, could not be read."""
    return file in unreadable or any(name.endswith("/") and file.startswith(name) for name in unreadable)


def unsure_of_tombstones(contents: RootContents) -> bool:
    """Whether records may be deleted that `contents` knows no marker of."""
    return is_under(TOMBSTONES, contents.unreadable) or any(
        line.file == TOMBSTONES for line in contents.skipped
    )


def read_tombstones(connection: sqlite3.Connection) -> frozenset[str]:
    """The tombstones in force since the last sync."""
    return frozenset(id_ for (id_,) in connection.execute("SELECT id FROM tombstones"))


def read_kept(connection: sqlite3.Connection, contents: RootContents) -> Kept | None:
    """What a store knows of what `contents` could not read; None where it never read it.

    :raises StoreError: the store is of another memory root.
    """
    root = str(state_row(connection, "root")[0])
    if not root:
        return None
    if root != root_name(contents.root):
        raise StoreError(
            f"this store is of the memory root {root}; it is not rebuilt for {contents.root} while "
            f"{_named(contents)} cannot be read there"
        )
    records, lost = [], []
    rows = connection.execute(
        "SELECT id, file, payload, content_hash, tombstoned FROM records ORDER BY rowid"
    )
    for id_, file, payload, hash_, tombstoned in rows:
        if is_under(file, contents.unreadable):
            try:
                record = decode_stored(payload)
            except (RecordError, TypeError):
                record = None
            if record is not None and content_hash(payload, bool(tombstoned)) == hash_:
                records.append(SourcedRecord(record, file, 0))
            else:
                lost.append(str(id_))
    return Kept(records, _known_tombstones(connection, contents), lost)


def with_kept(contents: RootContents, kept: Kept | None) -> RootContents:
    """The contents and what is kept. An id that a file could be read with now is that file's.

    :raises MemoryRootError: nothing is known of the deletion markers, which cannot be read.
    """
    require_tombstones(contents, known=kept is not None)
    if kept is None:
        return contents
    read = {source.record.id for source in contents.records}
    lost = (id_ for id_ in kept.lost if id_ not in read)
    warnings = contents.warnings + [
        f"the store's copy of {id_} is damaged, and its file cannot be read: left out" for id_ in lost
    ]
    if kept.tombstones - contents.tombstones and not is_under(TOMBSTONES, contents.unreadable):
        warnings.append(STAYS_DELETED)
    return msgspec.structs.replace(
        contents,
        records=contents.records + [source for source in kept.records if source.record.id not in read],
        tombstones=contents.tombstones | kept.tombstones,
        warnings=warnings,
    )


def require_tombstones(contents: RootContents, *, known: bool) -> None:
    """Refuses to take in records while nobody can tell which of them are deleted.

    :param known: whether the markers were read before.
    :raises MemoryRootError: they were not, and cannot be read now.
    """
    if not known and is_under(TOMBSTONES, contents.unreadable):
        raise MemoryRootError(
            f"{TOMBSTONES} of {contents.root} cannot be read, and was not read before: nobody can tell which "
            "records are deleted, and none is taken in. Make the file readable, in UTF-8, and sync again"
        )


def kept_of_file(path: Path, contents: RootContents) -> Kept | None:
    """As `read_kept`, from the file of a store that is to be replaced.

    :raises StoreError: it cannot be read either.
    """
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return read_kept(connection, contents)
    except (sqlite3.Error, UnicodeDecodeError, TypeError) as error:
        raise StoreError(
            f"not rebuilt: {_named(contents)} cannot be read, and what the store {path} knows of it cannot "
            f"either ({error}); make the file readable, in UTF-8, and rebuild again"
        ) from error
    finally:
        connection.close()


def root_name(root: Path) -> str:
    """The root as the store remembers it: links resolved, and written so that SQLite can hold it."""
    return str(root.resolve()).encode("utf-8", "backslashreplace").decode()


def _known_tombstones(connection: sqlite3.Connection, contents: RootContents) -> frozenset[str]:
    if not unsure_of_tombstones(contents):
        return frozenset()
    marked = connection.execute("SELECT id FROM records WHERE tombstoned")
    return read_tombstones(connection) | {id_ for (id_,) in marked}


def _named(contents: RootContents) -> str:
    return ", ".join(sorted(contents.unreadable)) or TOMBSTONES
