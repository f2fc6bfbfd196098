"""Embeds the texts of a store that have no vector yet, in chunks that stay when the rest is interrupted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from pi_rank.errors import VectorError
from pi_rank.store.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event

    import numpy.typing as npt

    from pi_rank.embedding import Embedder
    from pi_rank.store.store import MemoryStore

# Texts embedded between two writes to the store: what an interrupted sync has to do again.
EMBED_CHUNK = 256


def embed_missing(
    store: MemoryStore,
    embedder: Embedder,
    progress: Callable[[int, int], None] | None = None,
    *,
    chunk_size: int = EMBED_CHUNK,
    stop: Event | None = None,
) -> int:
    """Embeds and stores what is missing; how many texts that were.

    :param progress: called after each chunk with (texts embedded, texts to embed).
    :param stop: once set, no further chunk is begun.
    :raises VectorError: the model gave a vector that cannot be used; the message names a record. What was
        stored before stays.
    :raises StoreError: the store cannot be written.
    """
    missing = store.missing_vectors(embedder.model_id)
    remaining, done = iter(missing), 0
    while (chunk := list(islice(remaining, chunk_size))) and not (stop is not None and stop.is_set()):
        matrix = embedder.embed_documents([text for _, text in chunk])
        hashes = [text_hash for text_hash, _ in chunk]
        _check(store, embedder, hashes, matrix)
        store.put_vectors(embedder.model_id, hashes, matrix)
        done += len(chunk)
        if progress is not None:
            progress(done, len(missing))
    return done


def _check(
    store: MemoryStore, embedder: Embedder, hashes: Sequence[bytes], matrix: npt.NDArray[np.float32]
) -> None:
    """Of what `put_vectors` does not say: which record it is. A wrong shape or dtype is left to it."""
    if matrix.ndim != 2 or len(matrix) != len(hashes):
        return
    unit = unit_rows(matrix)
    if not unit.all():
        at = int(np.argmin(unit))
        raise VectorError(
            f"{embedder.model_id} gave record {store.record_of(hashes[at])!r} a vector of length "
            f"{np.linalg.norm(matrix[at]):g} instead of 1"
        )
