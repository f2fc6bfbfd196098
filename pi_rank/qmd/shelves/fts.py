"""BM25 by SQLite FTS5, for processes that live too short to load the core, and for boolean queries.

FTS5 is the oracle that the core's `LexicalIndex` is held to: both give one order.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

K1 = 1.2  # FTS5's own (https://www.sqlite.org/fts5.html#the_bm25_function)
LEAST_IDF = 1e-6


class WordTable(NamedTuple):
    """A table to search: its name, and a query with the places `?match`, the caller's own, and `?limit`.

    The query's first column is the row's BM25 score, higher is better.
    """

    name: str
    query: str


def search(
    connection: sqlite3.Connection,
    table: WordTable,
    match: str,
    wanted: Sequence[str],
    own: Sequence[object],
    k: int,
) -> list[tuple[float, tuple[Any, ...]]]:
    """(score from 0 to 1, the query's other columns) of the best k rows, best first.

    The score is BM25 over the most that any document could get for the query, a share that means the same
    in a collection of ten files and of ten thousand: 1 would be every term, endlessly often.
    """
    if not match or k <= 0:
        return []
    rows = connection.execute(table.query, (match, *own, k)).fetchall()
    if not rows:
        return []
    most = highest(connection, table, wanted)
    return [(min(1.0, row[0] / most), row[1:]) for row in rows]


def highest(connection: sqlite3.Connection, table: WordTable, wanted: Sequence[str]) -> float:
    """What BM25 tends to for a document that has every wanted term without end."""
    total = connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0]
    count = f"SELECT count(*) FROM {table.name} WHERE {table.name} MATCH ?"
    return sum(bound(total, connection.execute(count, (term,)).fetchone()[0]) for term in wanted)


def bound(total: int, having: int) -> float:
    """The limit of one term's share, by FTS5's formula, where `having` of `total` documents have it.

    A damaged index may know more documents of a term than there are: then all have it.
    """
    having = min(having, total)
    return max(LEAST_IDF, math.log((total - having + 0.5) / (having + 0.5))) * (K1 + 1)
