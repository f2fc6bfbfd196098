"""Makes a store anew from the memory files, keeping the vectors that are still of use."""

from __future__ import annotations

import os
import sqlite3
from binascii import crc32
from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.memory.contents import RootContents
from pi_rank.memory.files import Fingerprint
from pi_rank.results import SyncReport
from pi_rank.store.kept import kept_of_file, unsure_of_tombstones
from pi_rank.store.model import read_choice
from pi_rank.store.places import close_to_others
from pi_rank.store.schema import DamagedStoreError, ForeignFileError
from pi_rank.store.store import MemoryStore
from pi_rank.store.sync import Analyzer, read_fingerprints
from pi_rank.store.vectors import unit_rows

_SUFFIXES = ("", "-wal", "-shm")  # a SQLite file in WAL mode, and what belongs to it


def rebuild(path: str | Path, contents: RootContents, analyzer: Analyzer) -> SyncReport:
    """Make the store hold `contents` and nothing else, whatever state it is in.

    A sound store is emptied and filled in one transaction, so that its other users see it happen. A damaged
    one, or one of another version, is moved aside (the report says where) and a new one, built beside it,
    takes its place.

    Of files that cannot be read, what they last held stays.

    :raises ForeignFileError: the file is another program's, or the user's own; it is left alone.
    :raises StoreError: the store cannot be written, or files cannot be read and what the store knew of them
        neither; then it is as it was.
    :raises MemoryRootError: the deletion markers cannot be read, and never were.
    """
    path = Path(path)
    try:
        with MemoryStore.open(path) as store:
            store.verify()
            return store.replace(contents, analyzer)
    except ForeignFileError:
        raise
    except (DamagedStoreError, StoreVersionError):
        return _replace_file(path, contents, analyzer)


def known_files(path: Path) -> dict[str, Fingerprint]:
    """What the memory files looked like at the store's last sync, as far as that can be read."""
    if not path.is_file():
        return {}
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return read_fingerprints(connection)
    except (sqlite3.Error, UnicodeDecodeError, TypeError):
        return {}  # then a file is taken as it is
    finally:
        connection.close()


def _replace_file(path: Path, contents: RootContents, analyzer: Analyzer) -> SyncReport:
    new = path.with_name(f"{path.name}.new-{os.getpid()}")
    is_whole = not contents.unreadable and not unsure_of_tombstones(contents)
    kept = None if is_whole else kept_of_file(path, contents)
    try:
        _remove(new)
        with MemoryStore.open(new) as store:
            report = store.replace(contents, analyzer, kept)
            _keep_vectors(path, store)
            _keep_choice(path, store)
        aside = _move_aside(path)
        new.replace(path)
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be replaced ({error.strerror}); "
            "end the programs that use it and try again"
        ) from error
    finally:
        _remove(new)
    moved = f"the old store is now {aside}; it may hold what was deleted: remove it when nobody needs it"
    return msgspec.structs.replace(report, warnings=(*report.warnings, moved))


def _keep_vectors(path: Path, store: MemoryStore) -> None:
    """Copy what can be read of the old store's vectors and passes for one; the rest is embedded again."""
    import numpy as np

    for model_id, found in _readable_vectors(path).items():
        length = Counter(map(len, found.values())).most_common(1)[0][0]
        hashes = [text_hash for text_hash, blob in found.items() if len(blob) == length and length % 4 == 0]
        matrix = np.frombuffer(b"".join(found[text_hash] for text_hash in hashes), "<f4").astype(np.float32)
        matrix = matrix.reshape(len(hashes), -1) if hashes else matrix.reshape(0, 0)
        sound = unit_rows(matrix)
        kept = [text_hash for text_hash, good in zip(hashes, sound, strict=True) if good]
        store.put_vectors(model_id, kept, matrix[sound])


def _keep_choice(path: Path, store: MemoryStore) -> None:
    """The model that was chosen for the old store, where that can be read."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        choice = read_choice(connection)
    except (sqlite3.Error, TypeError):
        return  # no such table, or no such row: the new store has the default
    finally:
        connection.close()
    if all(isinstance(name, str) and name for name in choice):
        store.choose_model(*choice)


def _readable_vectors(path: Path) -> dict[str, dict[bytes, bytes]]:
    """Model id → text hash → blob, up to the first damaged page, without what is not as it was written."""
    found: dict[str, dict[bytes, bytes]] = defaultdict(dict)
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(vectors)")]
        checksum = "checksum" if "checksum" in columns else "NULL"  # before schema 4 there was none
        for model_id, text_hash, blob, crc in connection.execute(
            f"SELECT model_id, text_hash, vector, {checksum} FROM vectors"
        ):
            whole = isinstance(model_id, str) and isinstance(text_hash, bytes) and isinstance(blob, bytes)
            if whole and crc in (None, crc32(blob)):
                found[model_id][text_hash] = blob
    except (sqlite3.Error, UnicodeDecodeError):
        return found  # that is all there is to save
    finally:
        connection.close()
    return found


def _move_aside(path: Path) -> Path:
    number = 1
    while path.with_name(f"{path.name}.broken-{number}").exists():
        number += 1
    aside = path.with_name(f"{path.name}.broken-{number}")
    for suffix in _SUFFIXES:
        part = path.with_name(path.name + suffix)
        if part.exists():
            close_to_others(part)
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def _remove(path: Path) -> None:
    for suffix in _SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
