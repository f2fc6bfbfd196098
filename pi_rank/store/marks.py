"""Marks: a random name for each state of a store, by which whoever holds an earlier one knows it is its past.

Numbers of generations cannot tell that: a backup that is put back counts on from where it was, and comes to
the numbers that the lost states had.
"""

from __future__ import annotations

import os
import sqlite3

MARK_BYTES = 16
MOST_MARKS = 10_000  # kept; a reader of an older state reads everything again


def new_mark(connection: sqlite3.Connection, generation: int) -> None:
    """Name the state that a write leaves the store in. Call inside its transaction."""
    mark = os.urandom(MARK_BYTES)
    connection.execute("INSERT INTO marks (mark, generation) VALUES (?, ?)", (mark, generation))
    connection.execute("DELETE FROM marks WHERE seq <= (SELECT max(seq) FROM marks) - ?", (MOST_MARKS,))
    connection.execute("UPDATE state SET generation = ?, mark = ?", (generation, mark))


def forget_marks(connection: sqlite3.Connection) -> None:
    """Let no earlier state be known any more: its readers read everything again."""
    connection.execute("DELETE FROM marks")


def is_known(connection: sqlite3.Connection, mark: bytes) -> bool:
    """Whether the store once was in the state of that name, and still tells what came since."""
    return connection.execute("SELECT 1 FROM marks WHERE mark = ?", (mark,)).fetchone() is not None
