"""Whose file is at a store's path: a store of ours, however damaged, or another's, which is left alone."""

from __future__ import annotations

import os
import re
from glob import escape
from pathlib import Path

from pi_rank.store.places import is_default_place

APPLICATION_ID = 0x50495231  # "PIR1", in the file's header: what `file` and SQLite tools show
# Begins a store's own name, which stands on one of the file's first pages; so do the tables' declarations.
_NAME_PREFIX = "pi_rank-"
_SIGNS = re.compile(rb"pi_rank-[0-9a-f]{24}|CREATE VIRTUAL TABLE records_fts USING fts5")
_ID_AT, _HEAD_BYTES = 68, 1 << 18


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
