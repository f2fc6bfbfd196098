"""A collection's rows in the index: forgotten or renamed, as the collection itself is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_rank.qmd.index.index import bump, open_index, translated
from pi_rank.store.schema import fold_log, transaction


def forget_rows(index: Path, name: str) -> tuple[int, int]:
    """Remove a collection's files from the index: (files, contents that no other file has)."""
    from pi_rank.qmd.index.indexing import forget_collection

    with _writing(index) as connection:
        return (0, 0) if connection is None else forget_collection(connection, name)


def rename_rows(index: Path, old: str, new: str) -> None:
    """Give a collection's files another collection's name."""
    with _writing(index) as connection:
        if connection is None:
            return
        connection.execute("UPDATE files SET collection = ? WHERE collection = ?", (new, old))
        connection.execute("UPDATE OR REPLACE updates SET collection = ? WHERE collection = ?", (new, old))
        bump(connection)


@contextmanager
def _writing(index: Path) -> Iterator[sqlite3.Connection | None]:
    """A write transaction on the index; None where nothing has been indexed yet."""
    with translated(index):
        connection = open_index(index)
        if connection is None:
            yield None
            return
        try:
            with transaction(connection, write=True):
                yield connection
            fold_log(connection, "words")  # what a collection said leaves the file
        finally:
            connection.close()
