"""Markdown in the ranking core: BM25 over chunks, vectors over passages, kept up with the index file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.qmd.index.index import generation, open_index, translated
from pi_rank.qmd.shelves.found import Found, Ranked
from pi_rank.qmd.shelves.query_language import MAX_TERMS
from pi_rank.qmd.warm.memory import highest_score
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.store.schema import transaction

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.ranking.analysis import FtsAnalyzer

    Ints = npt.NDArray[np.int32]

# A document's chunks share the depth of a search: this many rows are asked for each document wanted.
ROWS_PER_DOCUMENT = 4
# Past this share of dead rows the next version is built from nothing.
MAX_DEAD_SHARE = 0.25
MIN_DEAD_ROWS = 1024
_CHUNKS = """SELECT c.id, f.collection, f.path, f.title, f.hash, c.start, c.end
    FROM chunks AS c JOIN files AS f ON f.id = c.file_id ORDER BY c.id"""
_TERMS = "SELECT terms FROM chunks WHERE id > ? ORDER BY id"
_PASSAGES = "SELECT id, chunk_id, start, end, text_hash FROM passages ORDER BY id"
_VECTORS = "SELECT seq, text_hash, vector FROM vectors WHERE model_id = ? AND seq > ? ORDER BY seq"


class _Chunk(NamedTuple):
    """A live chunk: what is needed to show it."""

    collection: str
    path: str
    title: str
    hash: str
    start: int
    end: int


class _Version(NamedTuple):
    """One version of the index. Arrays are by chunk row, those of passages by passage row.

    Chunk rows are only ever appended; `chunks` has None for a dead one.
    """

    uuid: str
    generation: int
    ids: list[int]
    chunks: list[_Chunk | None]
    tie_rank: Ints
    lexical: LexicalIndex
    passage_chunk: Ints
    passage_spans: list[tuple[int, int]]
    vectors: VectorIndex | None
    node_of: dict[bytes, int]
    last_vector: int


class WarmFiles:
    """The Markdown files of one index. Threads may share it."""

    def __init__(self, index: Path, analyzer: FtsAnalyzer, model_id: str | None) -> None:
        self._index = index
        self._analyzer = analyzer
        self._model_id = model_id
        self._connection: sqlite3.Connection | None = None
        self._version: _Version | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the index file."""
        if self._connection is not None:
            self._connection.close()

    def refresh(self) -> None:
        """Read what has changed since the last search."""
        self._fresh()

    def lexical(self, names: Sequence[str], text: str, k: int) -> Ranked:
        """Files by the BM25 score of their best chunk over any of the words."""
        version = self._fresh()
        if version is None:
            return Ranked("none", [])
        terms = self._analyzer.query_terms(text)[:MAX_TERMS]
        eligible = _eligible(version, names)
        depth = _depth(k, len(version.ids))
        rows, scores = version.lexical.search(terms, depth, eligible=eligible, tie_rank=version.tie_rank)
        most = highest_score(version.lexical, terms, version.tie_rank) if len(rows) else 1.0
        spans = [None] * len(rows)
        return Ranked("any", _documents(version, rows.tolist(), (scores / most).tolist(), spans, k))

    def semantic(self, names: Sequence[str], vector: npt.NDArray[np.float32], k: int) -> Ranked:
        """Files by the cosine of their nearest passage; `why` says what is not embedded yet."""
        version = self._fresh()
        pending = "" if version is None else _pending(version, names)
        if version is None or version.vectors is None:
            return Ranked("none", [], pending)
        eligible = _eligible(version, names)[version.passage_chunk]
        order = np.arange(len(version.passage_chunk), dtype=np.int32)
        depth = _depth(k, len(order))
        hits = version.vectors.search(vector, depth, eligible=np.ascontiguousarray(eligible), tie_rank=order)
        rows = version.passage_chunk[hits.rows].tolist()
        spans = [version.passage_spans[row] for row in hits.rows.tolist()]
        mode = "semantic" if len(rows) else "none"
        return Ranked(mode, _documents(version, rows, hits.scores.tolist(), spans, k), pending)

    def _fresh(self) -> _Version | None:
        """The index file's present version; None while there is no file."""
        with self._lock, translated(self._index):
            if self._connection is None:
                self._connection = open_index(self._index)
            if self._connection is None:
                return None
            with transaction(self._connection, write=False):
                now = generation(self._connection)
                if self._version is None or self._version.generation != now:
                    self._version = _read(self._connection, self._version, now, self._model_id)
            return self._version


def _pending(version: _Version, names: Sequence[str]) -> str:
    """What of the collections has no vector, in a clause; empty where all have."""
    eligible = _eligible(version, names)[version.passage_chunk].astype(np.bool_)
    without = eligible if version.vectors is None else eligible & (version.vectors.row_node < 0)
    if not without.any():
        return ""
    chunks = {version.chunks[row] for row in version.passage_chunk[without].tolist()}
    files = len({(chunk.collection, chunk.path) for chunk in chunks if chunk is not None})
    if without.sum() == eligible.sum():
        return f"nothing of {', '.join(names)} is embedded yet ('qmd embed')"
    return f"{files} files of {', '.join(names)} are not wholly embedded yet ('qmd embed')"


def _eligible(version: _Version, names: Sequence[str]) -> npt.NDArray[np.uint8]:
    wanted = frozenset(names)
    return np.array([chunk is not None and chunk.collection in wanted for chunk in version.chunks], np.uint8)


def _depth(k: int, rows: int) -> int:
    return min(rows, k * ROWS_PER_DOCUMENT)


def _documents(
    version: _Version,
    rows: Sequence[int],
    scores: Sequence[float],
    spans: Sequence[tuple[int, int] | None],
    k: int,
) -> list[Found]:
    """The documents of ranked chunk rows, each at its best row."""
    documents: dict[tuple[str, str], Found] = {}
    for row, score, span in zip(rows, scores, spans, strict=True):
        chunk = version.chunks[row]
        assert chunk is not None  # dead rows are never eligible
        key = (chunk.collection, chunk.path)
        if key not in documents:
            where = span or (chunk.start, chunk.end)
            documents[key] = Found(*chunk[:4], max(0.0, min(1.0, score)), where)
        if len(documents) == k:
            break
    return list(documents.values())


def _read(connection: sqlite3.Connection, old: _Version | None, now: int, model_id: str | None) -> _Version:
    """The index's present version, built from the old one where that is worth it."""
    uuid = str(connection.execute("SELECT uuid FROM state").fetchone()[0])
    live = {row[0]: _Chunk(*row[1:]) for row in connection.execute(_CHUNKS)}
    if old is not None and (old.uuid != uuid or _crowded(old, live)):
        old = None
    ids, lexical = _read_chunks(connection, old, live)
    chunks = [live.get(id_) for id_ in ids]
    row_of = {id_: row for row, id_ in enumerate(ids)}
    passages = connection.execute(_PASSAGES).fetchall()
    passage_chunk = np.array([row_of[passage[1]] for passage in passages], np.int32)
    vectors, node_of, last = _read_vectors(connection, old, [passage[4] for passage in passages], model_id)
    return _Version(
        uuid=uuid,
        generation=now,
        ids=ids,
        chunks=chunks,
        tie_rank=_tie_rank(chunks),
        lexical=lexical,
        passage_chunk=passage_chunk,
        passage_spans=[(passage[2], passage[3]) for passage in passages],
        vectors=vectors,
        node_of=node_of,
        last_vector=last,
    )


def _crowded(old: _Version, live: dict[int, _Chunk]) -> bool:
    dead = sum(id_ not in live for id_ in old.ids)
    return dead > MIN_DEAD_ROWS and dead > MAX_DEAD_SHARE * len(old.ids)


def _read_chunks(
    connection: sqlite3.Connection, old: _Version | None, live: dict[int, _Chunk]
) -> tuple[list[int], LexicalIndex]:
    last = old.ids[-1] if old and old.ids else 0
    new = [id_ for id_ in live if id_ > last]
    terms = [row[0] for row in connection.execute(_TERMS, (last,))]
    if old is None or not old.ids:
        return new, LexicalIndex.build(terms)
    died = [row for row, chunk in enumerate(old.chunks) if chunk is not None and old.ids[row] not in live]
    return old.ids + new, old.lexical.updated(np.array(died, np.int32), terms)


def _tie_rank(chunks: Sequence[_Chunk | None]) -> Ints:
    """Equal scores come in order of collection, path and place."""
    live = [row for row, chunk in enumerate(chunks) if chunk is not None]
    live.sort(key=lambda row: (chunks[row][0], chunks[row][1], chunks[row][4]))  # type: ignore[index]
    ranks = np.zeros(len(chunks), np.int32)
    ranks[live] = np.arange(len(live), dtype=np.int32)
    return ranks


def _read_vectors(
    connection: sqlite3.Connection, old: _Version | None, hashes: Sequence[bytes], model_id: str | None
) -> tuple[VectorIndex | None, dict[bytes, int], int]:
    """(the vectors of the passages, text hash → node, the newest vector's number)."""
    if model_id is None:
        return None, {}, 0
    before = old.vectors if old is not None else None
    last = old.last_vector if old is not None else 0
    node_of = dict(old.node_of) if old is not None else {}
    found = connection.execute(_VECTORS, (model_id, last)).fetchall()
    first = before.count if before is not None else 0
    node_of.update({row[1]: first + place for place, row in enumerate(found)})
    if not node_of:
        return None, {}, last
    row_node = np.array([node_of.get(hash_, -1) for hash_ in hashes], np.int32)
    flat = np.frombuffer(b"".join(row[2] for row in found), "<f4").astype(np.float32, copy=False)
    newest = found[-1][0] if found else last
    if before is None:
        return VectorIndex.build(flat.reshape(len(found), -1), row_node), node_of, newest
    return before.updated(flat.reshape(len(found), before.dimension), row_node), node_of, newest
