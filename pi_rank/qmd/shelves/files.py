"""Markdown collections, as one process reads them from the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi_rank.qmd.shelves import fts
from pi_rank.qmd.shelves.found import Embedded, Found, Ranked, StoredDocument
from pi_rank.qmd.shelves.query_language import MAX_TERMS, Lexical, match_all, match_any

if TYPE_CHECKING:
    from pi_rank.ranking.analysis import FtsAnalyzer

_WORDS = fts.WordTable(
    "words",
    """SELECT -rank AS score, f.collection, f.path, f.title, f.hash
    FROM words JOIN files AS f ON f.id = words.rowid
    WHERE words MATCH ? AND f.collection IN (SELECT value FROM json_each(?))
    ORDER BY score DESC, f.collection, f.path LIMIT ?""",
)
_STORED = """SELECT f.collection, f.path, f.title, f.hash, f.size, abs(f.mtime_ns) / 1e9, {body}
    FROM files AS f {join} WHERE f.collection IN (SELECT value FROM json_each(?)) {also}
    ORDER BY f.collection, f.path"""


class FilesShelf:
    """Searches and reads Markdown files. The caller holds a read transaction on the connection."""

    def __init__(self, connection: sqlite3.Connection, analyzer: Callable[[], FtsAnalyzer]) -> None:
        self._connection = connection
        self._analyzer = analyzer

    def all_words(self, lexical: Lexical, names: Sequence[str], k: int) -> list[Found]:
        """Files with all the words."""
        return self._matching(match_all(lexical), lexical.wanted, names, k)

    def any_word(self, text: str, names: Sequence[str], k: int) -> Ranked:
        """Files with any of the text's words, function words left out."""
        words = tuple(self._analyzer().fts_query(text).split(" OR "))[:MAX_TERMS]
        return Ranked("any", self._matching(match_any(words, ()), words, names, k))

    def body(self, hash_: str) -> str:
        """The text of a content; empty where it is gone."""
        row = self._connection.execute("SELECT body FROM contents WHERE hash = ?", (hash_,)).fetchone()
        return row[0] if row else ""

    def documents(self, names: Sequence[str]) -> list[StoredDocument]:
        """Every file of the collections, without its text, in order of collection and path."""
        query = _STORED.format(body="''", join="", also="")
        return [StoredDocument._make(row) for row in self._connection.execute(query, (_list(names),))]

    def updated(self) -> dict[str, float]:
        """Collection name → when it was last brought up to date, in seconds since 1970."""
        return dict(self._connection.execute("SELECT collection, at FROM updates"))

    def embedded(self) -> Embedded:
        """Vectors of all collections, and contents that have a passage without one, of any model."""
        pending = self._connection.execute(
            """SELECT count(DISTINCT f.hash) FROM passages AS p JOIN chunks AS c ON c.id = p.chunk_id
            JOIN files AS f ON f.id = c.file_id WHERE p.text_hash NOT IN (SELECT text_hash FROM vectors)"""
        ).fetchone()[0]
        return Embedded(self._connection.execute("SELECT count(*) FROM vectors").fetchone()[0], pending)

    def _matching(self, match: str, wanted: Sequence[str], names: Sequence[str], k: int) -> list[Found]:
        rows = fts.search(self._connection, _WORDS, match, wanted, (_list(names),), k)
        return [Found(row[0], row[1], row[2], row[3], score) for score, row in rows]


def _list(names: Sequence[str]) -> str:
    return json.dumps(list(names))
