"""A memory root as a collection: each active record is one document. Read from the root's own store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.memory.rules import rule_label
from pi_rank.qmd.shelves import fts
from pi_rank.qmd.shelves.found import Embedded, Found, Ranked, StoredDocument
from pi_rank.qmd.shelves.query_language import MAX_TERMS, Lexical, match_all, match_any
from pi_rank.store.schema import connect, transaction, translated

if TYPE_CHECKING:
    from pi_rank.ranking.analysis import FtsAnalyzer

_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, records_fts, row)"
_RECORDS = fts.WordTable(
    "records_fts",
    """SELECT -rank AS score, r.payload
    FROM records_fts JOIN records AS r ON r.rowid = records_fts.rowid
    WHERE records_fts MATCH ? AND r.active
    ORDER BY score DESC, r.id LIMIT ?""",
)


class MemoryShelf:
    """Searches and reads the records of one memory root by way of its store.

    Another process may be writing the store meanwhile.
    """

    def __init__(
        self, collection: str, connection: sqlite3.Connection, analyzer: Callable[[], FtsAnalyzer]
    ) -> None:
        self._name = collection
        self._connection = connection
        self._analyzer = analyzer

    def all_words(self, lexical: Lexical, k: int) -> list[Found]:
        """Records with all the words."""
        return self._matching(match_all(lexical), lexical.wanted, k)

    def any_word(self, text: str, k: int) -> Ranked:
        """Records with any of the text's words, function words left out; where there is none, with words like
        them, and with the pairs of characters of a script without spaces.
        """
        words = tuple(self._analyzer().fts_query(text).split(" OR "))[:MAX_TERMS]
        found = self._matching(match_any(words, ()), words, k)
        if found:
            return Ranked("any", found)
        from pi_rank.ranking.terms import terms_like

        like = tuple(f'"{term}"' for term in terms_like(text, self._vocabulary()))
        return Ranked("terms", self._matching(match_any(like, ()), like, k))

    def _vocabulary(self) -> str:
        """Every term of the records, one a line, as `LexicalIndex.vocabulary` gives them."""
        self._connection.execute(_VOCABULARY)
        return "\n".join(row[0] for row in self._connection.execute("SELECT term FROM temp.vocabulary"))

    def count(self) -> int:
        """How many active records there are."""
        return int(self._connection.execute("SELECT count(*) FROM records WHERE active").fetchone()[0])

    @property
    def model(self) -> str:
        """The name of the model whose vectors answer."""
        from pi_rank.store.model import read_choice  # which knows records, and loads what decodes them

        return read_choice(self._connection).answering

    def embedded(self, model_id: str | None) -> Embedded:
        """Vectors of a model, and active records whose text has none of it; None: of any model."""
        own = "WHERE model_id = ?" if model_id else ""
        given = (model_id,) if model_id else ()
        vectors = self._connection.execute(f"SELECT count(*) FROM vectors {own}", given).fetchone()[0]
        pending = self._connection.execute(
            f"""SELECT count(*) FROM records
            WHERE active AND text_hash NOT IN (SELECT text_hash FROM vectors {own})""",
            given,
        ).fetchone()[0]
        return Embedded(vectors, pending)

    def named(self, ids: Sequence[str]) -> list[Found]:
        """The active records of these ids, each as what was asked for."""
        marks = ", ".join("?" * len(ids))
        rows = self._connection.execute(
            f"SELECT payload FROM records WHERE active AND id IN ({marks}) ORDER BY id", tuple(ids)
        )
        return [found_record(self._name, json.loads(payload), 1.0) for (payload,) in rows]

    def documents(self) -> list[StoredDocument]:
        """Every active record as a document, in order of ids."""
        rows = self._connection.execute("SELECT payload FROM records WHERE active ORDER BY id")
        return [_document(self._name, json.loads(payload)) for (payload,) in rows]

    def _matching(self, match: str, wanted: Sequence[str], k: int) -> list[Found]:
        rows = fts.search(self._connection, _RECORDS, match, wanted, (), k)
        return [found_record(self._name, json.loads(payload), score) for score, (payload,) in rows]


def found_record(collection: str, fields: dict[str, Any], score: float) -> Found:
    """A record of a ranking, from its decoded payload."""
    body = record_body(fields)
    path, record_id = record_path(fields["id"]), fields["id"]
    rule_type = fields.get("ruleType")
    return Found(collection, path, record_id, _hash(body), score, None, record_id, body, rule_type)


def record_path(record_id: str) -> str:
    """The record's path in its collection, in which PI finds the id between two characters that no id has."""
    return f"memory/{record_id}.md"


def record_body(fields: dict[str, Any]) -> str:
    """The record as Markdown; a rule says what kind of rule it is: `AVOID: …`."""
    tags = f"\ntags: {', '.join(fields['tags'])}\n" if fields.get("tags") else ""
    label = rule_label(fields.get("ruleType"), fields["status"])
    return f"# {fields['id']}\n\n{label}{fields['statement']}\n{tags}"


@contextmanager
def opened(collection: str, store: Path, analyzer: Callable[[], FtsAnalyzer]) -> Iterator[MemoryShelf | None]:
    """The shelf on a store's present version; None where there is no store yet."""
    if not store.is_file():
        yield None
        return
    connection = connect(store, read_only=True)
    try:
        with translated(store), transaction(connection, write=False):
            yield MemoryShelf(collection, connection, analyzer)
    finally:
        connection.close()


def _document(collection: str, fields: dict[str, Any]) -> StoredDocument:
    body = record_body(fields)
    size = len(body.encode("utf-8", "surrogatepass"))
    path, record_id = record_path(fields["id"]), fields["id"]
    return StoredDocument(collection, path, record_id, _hash(body), size, _modified(fields), body)


def _hash(body: str) -> str:
    import hashlib  # 2 ms or more, which a search of files does not need

    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def _modified(fields: dict[str, Any]) -> float:
    from datetime import datetime, timezone  # 3 ms that no search needs

    try:
        moment = datetime.fromisoformat(str(fields.get("updated_at")).replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
