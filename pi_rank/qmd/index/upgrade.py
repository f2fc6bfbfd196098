"""An index of the version before, made one of this version without the files."""

from __future__ import annotations

import sqlite3

from pi_rank.qmd.index.index import WORDS_TABLE, bump
from pi_rank.qmd.index.indexing import heading_of, write_words
from pi_rank.ranking.analysis import FtsAnalyzer

_FILES = "SELECT f.id, f.title, f.path, c.body FROM files AS f JOIN contents AS c ON c.hash = f.hash"


def upgrade(connection: sqlite3.Connection) -> None:
    """Take the words of all files anew, as they are folded and cut now. Call inside a write transaction."""
    connection.execute("DROP TABLE words")
    connection.execute(WORDS_TABLE)
    analyzer = FtsAnalyzer()
    for file_id, title, path, body in connection.execute(_FILES).fetchall():
        heading = heading_of(title, path)
        write_words(connection, file_id, heading, body)
        spans = connection.execute(
            "SELECT id, start, end FROM chunks WHERE file_id = ?", (file_id,)
        ).fetchall()
        terms = analyzer.document_terms([(body[start:end], heading) for _, start, end in spans])
        changed = [(packed, chunk_id) for (chunk_id, *_), packed in zip(spans, terms, strict=True)]
        connection.executemany("UPDATE chunks SET terms = ? WHERE id = ?", changed)
    analyzer.close()
    bump(connection)
