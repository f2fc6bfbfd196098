"""BM25 by its definition, over documents given as packed terms; SQLite's FTS5 is the other oracle."""

from __future__ import annotations

import math
import sqlite3

from pi_rank.folding import TOKENIZER, document_text
from pi_rank.ranking.analysis import unpack_terms


def bm25(documents, terms, k, *, eligible, tie_rank):
    """documents: {row: packed terms} of the live rows. The k best [(row, score)], best first."""
    counts = {row: _counts(packed) for row, packed in documents.items()}
    lengths = {row: sum(count.values()) for row, count in counts.items()}
    average = sum(lengths.values()) / len(lengths) if lengths else 0.0
    scored = []
    for row, count in counts.items():
        if eligible[row] and any(term in count for term in terms):
            score = 0.0
            for term in terms:
                frequency = sum(term in other for other in counts.values())
                idf = math.log((len(counts) - frequency + 0.5) / (frequency + 0.5))
                tf = count.get(term, 0)
                norm = 1.2 * (1 - 0.75 + 0.75 * lengths[row] / average)
                score += (idf if idf > 0 else 1e-6) * (tf * (1.2 + 1.0) / (tf + norm))
            scored.append((row, score))
    return sorted(scored, key=lambda hit: (-hit[1], tie_rank[hit[0]]))[:k]


def overlap(documents, terms, *, rows, tie_rank):
    """Shared distinct stems over the smaller set, for the rows that share any: [(row, ratio)], best first."""
    ratios = []
    for row in rows:
        content, _ = unpack_terms(documents[row])
        if shared := len(set(terms) & content.keys()):
            ratios.append((row, shared / min(len(set(terms)), len(content))))
    return sorted(ratios, key=lambda hit: (-hit[1], tie_rank[hit[0]]))


def _counts(packed):
    content, function = unpack_terms(packed)
    return content | function


class Fts5:
    """The same memory in SQLite: rowid = row, and bm25() of FTS5 itself."""

    def __init__(self):
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f'CREATE VIRTUAL TABLE f USING fts5(statement, tags, tokenize = "{TOKENIZER}")'
        )

    def add(self, row, texts):
        rows = [(number, *map(document_text, text)) for number, text in enumerate(texts, row)]
        self._database.executemany("INSERT INTO f(rowid, statement, tags) VALUES (?, ?, ?)", rows)

    def remove(self, rows):
        self._database.executemany("DELETE FROM f WHERE rowid = ?", [(int(row),) for row in rows])

    def search(self, match, k):
        """[(row, score)] with the score's sign turned, ties by row."""
        return self._database.execute(
            "SELECT rowid, -bm25(f) FROM f WHERE f MATCH ? ORDER BY bm25(f), rowid LIMIT ?", (match, k)
        ).fetchall()
