"""Where stores lie, whose file it is that lies there, and who may look into it: its owner alone."""

from __future__ import annotations

import os
import re
from glob import escape
from pathlib import Path

from pi_rank.errors import StoreError
from pi_rank.files.cache import cache_folder
from pi_rank.files.private import refuse_planted

STORE_NAME = "store.sqlite3"
APPLICATION_ID = 0x50495231  # "PIR1", in the file's header: what `file` and SQLite tools show
# Begins a store's own name, which stands on one of the file's first pages; so do the tables' declarations.
_NAME_PREFIX = "pi_rank-"
_SIGNS = re.compile(rb"pi_rank-[0-9a-f]{24}|CREATE VIRTUAL TABLE records_fts USING fts5")
BESIDE = ("", "-wal", "-shm", "-journal")  # the store's file, and SQLite's own
_ID_AT, _HEAD_BYTES = 68, 1 << 18


def stores_folder() -> Path:
    """The folder of all stores that are nowhere else: in the user's cache folder, or PI_RANK_CACHE_DIR."""
    return cache_folder() / "stores"


def is_default_place(path: Path) -> bool:
    """Whether nobody but us puts a file there."""
    folders = path.absolute().parents
    return path.name == STORE_NAME and len(folders) > 1 and _same(folders[1], stores_folder())


def make_place(path: Path) -> None:
    """Make the file of a new store, and the folders that are missing, for their owner alone.

    :raises OSError: they cannot be made.
    """
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if is_default_place(path):  # made by an earlier version, perhaps
        for folder in (path.parent, path.parent.parent):
            close_to_others(folder)
    # Never a file that is there: to close it would take away the locks that SQLite has on it in this process.
    if not path.exists():
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return  # another process was first


def refuse_planted_store(path: Path) -> None:
    """Open no store, and none of the files that SQLite keeps beside it, that another user put there for us.

    :raises StoreError: one was.
    """
    try:
        for ending in BESIDE:
            refuse_planted(path.with_name(path.name + ending))
    except OSError as error:
        raise StoreError(f"{error.strerror}; name another with --store or PI_RANK_CACHE_DIR") from None


def close_to_others(path: Path) -> None:
    """Take a file or folder of ours out of other users' reach, where it is ours and they can."""
    found = path.stat()
    if os.name == "posix" and found.st_mode & 0o077 and found.st_uid == os.geteuid():
        path.chmod(found.st_mode & 0o7700)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def new_name() -> str:
    """A name for a new store, 32 characters."""
    return _NAME_PREFIX + os.urandom(12).hex()


def was_ours(path: Path) -> bool:
    """Whether a file that SQLite cannot read was a store of ours.

    That is where its header or one of its first pages says so, where a snapshot or graph of ours is beside
    it, and where it is in our own folder under our own name. Text is none, whatever it quotes.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    if head[_ID_AT : _ID_AT + 4] == APPLICATION_ID.to_bytes(4, "big") and b"\0" in head[:_ID_AT]:
        return True
    return (b"\0" in head and _SIGNS.search(head) is not None) or is_default_place(path) or _has_company(path)


def _has_company(path: Path) -> bool:
    from pi_rank.ranking.array_file import MAGIC  # numpy, which no sound store needs

    derived = [path.with_name(f"{path.name}.snapshot"), *path.parent.glob(f"{escape(path.name)}.*.graph")]
    return any(_begins_with(other, MAGIC) for other in derived)


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False
