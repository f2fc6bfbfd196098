"""A model without a network: a vector per token, their mean, scaled to unit length. Microseconds a query.

table.npz holds `rows`, int8[vocabulary, dimension], and `scales`, float32[vocabulary]: token t's vector is
`rows[t] * scales[t]`, weight included. `distill` makes such a table.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from pi_rank.embedding.registry import read_verified
from pi_rank.embedding.tokenizer import load_tokenizer
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pi_rank.embedding.cards import StaticCard

TEXTS_PER_BATCH = 256


class StaticEmbedder:
    """An embedder for a `StaticCard`. A text gets the same vector, to the bit, alone and among others.

    A text without a token, as the empty one, gets the vector whose values are all equal: near to nothing.
    """

    def __init__(self, card: StaticCard) -> None:
        self.model_id = card.model_id
        self.dimension = card.dimension
        self._tokenizer = load_tokenizer(card)
        self._rows, self._scales = _load_table(card, len(self._tokenizer))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only."""
        vector = self._mean(self._tokenizer.plain(text))
        vector.setflags(write=False)
        return vector

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension]; `progress` as they go."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            part = texts[start : start + TEXTS_PER_BATCH]
            for row, text in enumerate(part, start):
                vectors[row] = self._mean(self._tokenizer.plain(text))
            if progress is not None:
                progress(start + len(part))
        return vectors

    def _mean(self, ids: Sequence[int]) -> NDArray[np.float32]:
        total = self._scales[ids] @ self._rows[ids].astype(np.float32)
        length = float(np.linalg.norm(total))
        vector: NDArray[np.float32] = (
            total / length if length > 0 else np.full(self.dimension, self.dimension**-0.5, np.float32)
        )
        return vector


def _load_table(card: StaticCard, vocabulary: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """`rows` and `scales`, in the shapes that the card and the tokenizer ask for."""
    content = read_verified(card, "table.npz")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as table:
            rows, scales = table["rows"], table["scales"]
    except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise ModelError(f"model {card.id}: table.npz is no table of token vectors: {error}") from error
    found = (rows.dtype, rows.shape, scales.dtype, scales.shape)
    expected: tuple[Any, ...] = (np.int8, (vocabulary, card.dimension), np.float32, (vocabulary,))
    if found != expected:
        raise ModelError(
            f"model {card.id}: table.npz holds rows {rows.dtype}{list(rows.shape)} and scales "
            f"{scales.dtype}{list(scales.shape)}, not int8{[vocabulary, card.dimension]} and "
            f"float32{[vocabulary]}, as its tokenizer and its card say"
        )
    if not np.isfinite(scales).all():
        raise ModelError(f"model {card.id}: table.npz holds a scale that is not finite")
    return rows, scales
