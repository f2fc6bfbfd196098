"""The vectors of a snapshot: those of the one before, and what the store has got since."""

from __future__ import annotations

import logging
from itertools import compress
from typing import TYPE_CHECKING, Protocol, TypedDict

import numpy as np

from pi_rank.errors import VectorError
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.store.vectors import VectorRows, unit_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from pi_rank.snapshot.columns import Codebook, Columns

NO_VECTOR = -1

_log = logging.getLogger("pi_rank")


class VectorSource(Protocol):
    """Where new vectors come from: a MemoryStore, or what stands in for one."""

    def vectors(self, model_id: str, after: int = 0) -> VectorRows:
        """The model's vectors with a number above `after`."""
        ...


class SnapshotVectors(TypedDict):
    """The fields of a snapshot that tell of vectors; see there."""

    vectors: VectorIndex | None
    text_node: npt.NDArray[np.int32]
    node_text: npt.NDArray[np.int32]
    last_vector: int


def extend_vectors(
    old: SnapshotVectors, model_id: str | None, source: VectorSource, texts: Codebook, columns: Columns
) -> SnapshotVectors:
    """The old vectors and the model's new ones, for the rows of `columns`, whose texts `texts` numbers.

    `model_id` None: no vectors. A text that is new to `texts` is added to it.
    """
    if model_id is None:
        return {**old, "vectors": None, "last_vector": 0}
    new = source.vectors(model_id, after=old["last_vector"])
    try:
        return _append_vectors(old, new, texts, columns)
    except VectorError as error:
        return _append_vectors(old, _sound(new, old["vectors"], error), texts, columns)


def _append_vectors(
    old: SnapshotVectors, new: VectorRows, texts: Codebook, columns: Columns
) -> SnapshotVectors:
    codes = np.array([texts.add(text) for text in new.text_hashes], np.int32)
    nodes = len(old["node_text"])
    text_node = np.full(len(texts), NO_VECTOR, np.int32)
    text_node[: len(old["text_node"])] = old["text_node"]
    text_node[codes] = np.arange(nodes, nodes + len(codes), dtype=np.int32)
    index = old["vectors"]
    if index is not None:
        matrix = new.matrix if len(codes) else np.empty((0, index.dimension), np.float32)
        index = index.updated(matrix, text_node[columns.text])
    elif len(codes):
        index = VectorIndex.build(new.matrix, text_node[columns.text])
    node_text = np.concatenate([old["node_text"], codes])
    return SnapshotVectors(vectors=index, text_node=text_node, node_text=node_text, last_vector=new.last)


def _sound(new: VectorRows, known: VectorIndex | None, error: VectorError) -> VectorRows:
    """Without the vectors that the disk has altered: their records are still found by their words.

    :raises VectorError: `error`, where that is not the reason for it.
    """
    sound = unit_rows(new.matrix)
    if known is not None and new.matrix.shape[1] != known.dimension:
        sound[:] = False
    if sound.all():
        raise error
    _log.warning("%d stored vectors are damaged and left out: %s", np.count_nonzero(~sound), error)
    return VectorRows(new.last, list(compress(new.text_hashes, sound)), new.matrix[sound])
