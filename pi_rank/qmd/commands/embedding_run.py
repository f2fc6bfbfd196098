"""Computes the vectors that are missing: resumable, within a budget, and one run at a time."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pi_rank.errors import ModelError
from pi_rank.files.locks import Held, exclusive
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import MEMORY, Collection
from pi_rank.qmd.index.index import bump, open_index, translated
from pi_rank.qmd.index.indexing import passage_text
from pi_rank.qmd.warm.models import MARKDOWN_MODEL, model_id
from pi_rank.store.schema import transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pi_rank.embedding import Embedder
    from pi_rank.store.store import MemoryStore

CHUNK = 32  # texts between two looks at the clock, and what an interrupted run has to do again


class Done(NamedTuple):
    """What a run embedded and left. `busy`: why it did nothing, where another process is at it."""

    embedded: int = 0
    left: int = 0
    busy: str = ""


class _Target(Protocol):
    """Where vectors are missing, and the name of the model that makes them."""

    model: str

    def missing(self, model_id: str) -> list[tuple[bytes, str]]: ...

    def put(self, model_id: str, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None: ...


def embed(call: Call, collections: list[Collection], deadline: float | None) -> Done:
    """Embed what has no vector in these collections, until `deadline` on `time.monotonic`'s clock.

    :raises ModelError: the model cannot be loaded, and there is no deadline to explain it by.
    """
    try:
        with exclusive(call.places.embed_lock), _targets(call, collections) as targets:
            work = [(target, *pair) for target in targets for pair in target.missing(model_id(target.model))]
            if not work:
                return Done()
            return _run(call, work, deadline)
    except Held as held:
        return Done(
            busy=f"Another embedding run is at work (process {held.pid or 'unknown'}); this one did nothing."
        )
    except ModelError as error:
        if deadline is None:
            raise
        call.note(f"Nothing was embedded: {error}")
        return Done()


def forget_vectors(call: Call, collections: list[Collection]) -> None:
    """Drop the vectors of the Markdown index and of the given memory roots, so that all are made again."""
    from pi_rank.store.store import MemoryStore

    with _index(call) as connection:
        if connection is not None:
            with transaction(connection, write=True):
                connection.execute(
                    """DELETE FROM vectors WHERE text_hash IN (
                        SELECT p.text_hash FROM passages AS p JOIN chunks AS c ON c.id = p.chunk_id
                        JOIN files AS f ON f.id = c.file_id
                        WHERE f.collection IN (SELECT value FROM json_each(?)))""",
                    (json.dumps([each.name for each in collections if each.kind != MEMORY]),),
                )
    for each in collections:
        store = Path(each.store)
        if each.kind == MEMORY and store.is_file():
            with MemoryStore.open(store) as opened:
                opened.drop_vectors(model_id(opened.model_choice().answering))


def _run(call: Call, work: list[tuple[_Target, bytes, str]], deadline: float | None) -> Done:
    from pi_rank.embedding import load_embedder

    embedders: dict[str, Embedder] = {}
    done = 0
    while done < len(work) and not (deadline is not None and time.monotonic() >= deadline):
        target = work[done][0]
        part = [item for item in work[done : done + CHUNK] if item[0] is target]
        if target.model not in embedders:
            embedders[target.model] = load_embedder(target.model)
        embedder = embedders[target.model]
        vectors = embedder.embed_documents([text for _, _, text in part])
        target.put(embedder.model_id, [hash_ for _, hash_, _ in part], vectors)
        done += len(part)
        _progress(call, done, len(work))
    return Done(done, len(work) - done)


def _progress(call: Call, done: int, total: int) -> None:
    """Where stderr is a terminal, one line that is written over; nothing for a program."""
    if sys.stderr.isatty():
        call.err(f"\rEmbedding {done:,} of {total:,}" + ("\n" if done == total else ""))


@contextmanager
def _targets(call: Call, collections: list[Collection]) -> Iterator[list[_Target]]:
    from pi_rank.store.store import MemoryStore

    targets: list[_Target] = []
    stores = []
    try:
        with _index(call) as connection:
            if connection is not None:
                targets.append(_Files(connection, [each.name for each in collections if each.kind != MEMORY]))
            for each in collections:
                path = Path(each.store)
                if each.kind == MEMORY and path.is_file():
                    stores.append(MemoryStore.open(path))
                    targets.append(_Records(stores[-1]))
            yield targets
    finally:
        for store in stores:
            store.close()


@contextmanager
def _index(call: Call) -> Iterator[sqlite3.Connection | None]:
    with translated(call.places.database):
        connection = open_index(call.places.database)
        try:
            yield connection
        finally:
            if connection is not None:
                connection.close()


class _Records:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.model = store.model_choice().answering

    def missing(self, model_id: str) -> list[tuple[bytes, str]]:
        return self._store.missing_vectors(model_id)

    def put(self, model_id: str, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._store.put_vectors(model_id, hashes, vectors)


class _Files:
    def __init__(self, connection: sqlite3.Connection, names: list[str]) -> None:
        self._connection = connection
        self.model = MARKDOWN_MODEL
        self._names = json.dumps(names)

    def missing(self, model_id: str) -> list[tuple[bytes, str]]:
        rows = self._connection.execute(
            """SELECT p.text_hash, f.title, substr(b.body, p.start + 1, p.end - p.start), min(p.id) AS first
            FROM passages AS p JOIN chunks AS c ON c.id = p.chunk_id
            JOIN files AS f ON f.id = c.file_id JOIN contents AS b ON b.hash = f.hash
            WHERE p.text_hash NOT IN (SELECT text_hash FROM vectors WHERE model_id = ?)
                AND f.collection IN (SELECT value FROM json_each(?))
            GROUP BY p.text_hash ORDER BY first""",
            (model_id, self._names),
        )
        return [(hash_, passage_text(title, text)) for hash_, title, text, _ in rows]

    def put(self, model_id: str, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        blobs = [row.tobytes() for row in vectors.astype("<f4", copy=False)]
        with transaction(self._connection, write=True):
            # Only for what is still there: a file may have gone while its text was embedded.
            self._connection.executemany(
                """INSERT INTO vectors (model_id, text_hash, vector)
                SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM passages WHERE text_hash = ?2)
                ON CONFLICT DO NOTHING""",
                [(model_id, hash_, blob) for hash_, blob in zip(hashes, blobs, strict=True)],
            )
            bump(self._connection)
