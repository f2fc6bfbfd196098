"""Runs a BERT encoder in the compiled core: no runtime, one thread for a query, all cores for texts."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import numpy as np

from pi_rank._core.encoder import Encoder, kernels
from pi_rank.embedding.cards import COMMON
from pi_rank.embedding.registry import map_verified, read_verified
from pi_rank.embedding.texts import VectorCache, on_all_cores
from pi_rank.embedding.tokenizer import (
    Tokenizer,
    load_tokenizer,
    shipped_tokenizer,
    shipped_tokenizers_file,
)
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pi_rank.embedding.cards import EncoderCard
    from pi_rank.embedding.texts import Reading

    Ids = NDArray[np.int32]

TOKENS_PER_PASS = 256  # what a pass works on stays in a core's own cache
QUERY, DOCUMENT = 0, 1  # first rows of what texts have in common
KERNEL = "PI_RANK_KERNEL"  # environment variable: a kernel's name, instead of the best one


class EncoderEmbedder:
    """An embedder for an `EncoderCard`. The weights are mapped, so that processes share them.

    A text has the same vector, to the bit, alone and among others, on every machine and with every kernel:
    its numbers are scaled token by token, integers add up exactly, and floats always in the same order.
    """

    def __init__(self, card: EncoderCard) -> None:
        self.model_id = card.model_id
        self.dimension = card.dimension
        self.calibration = card.calibration
        self._card = card
        self._encoder = _load_encoder(card)
        self._tokenizer = _load_tokenizer(card, self._encoder)
        self._common = _load_common(card)
        self._cache = VectorCache()

    @property
    def kernel(self) -> str:
        """What the encoder runs on: "vnni", "avxvnni", "avx2" or "plain"."""
        return self._encoder.kernel_name

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only; recent queries are answered from memory."""
        return self._cache.get(text, lambda: self._embed([self._card.query_prompt + text], QUERY)[0])

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension], on all cores; `progress` is called in this thread."""
        vectors = np.empty((len(texts), self.dimension), np.float32)

        def embed(part: Sequence[str]) -> NDArray[np.float32]:
            return self._embed([self._card.document_prompt + text for text in part], DOCUMENT)

        on_all_cores(embed, texts, vectors, progress)
        return vectors

    def reading(self, text: str) -> Reading:
        """What the model knows of a text: most of its words, only letters of most, or next to nothing."""
        return self._tokenizer.reading(text)

    def plain_tokens(self, text: str) -> Sequence[int]:
        """Token ids of `text` without the model's own marks, as a static model sees them."""
        return self._tokenizer.plain(text)

    def embed_tokens(self, progress: Callable[[int, int], None] | None = None) -> NDArray[np.float32]:
        """Unit-length float32 [vocabulary, dimension]: of each token alone between the model's marks."""
        count, per_pass = len(self._tokenizer), 1000
        marks = self._tokenizer.encode([""], self._card.head_tokens, self._card.max_tokens)[0]
        half = len(marks) // 2
        vectors = np.empty((count, self.dimension), np.float32)
        for first in range(0, count, per_pass):
            tokens = np.arange(first, min(first + per_pass, count), dtype=np.int32)
            rows = np.empty((len(tokens), len(marks) + 1), np.int32)
            rows[:, :half], rows[:, half], rows[:, half + 1 :] = marks[:half], tokens, marks[half:]
            starts = np.arange(len(tokens) + 1, dtype=np.int32) * rows.shape[1]
            vectors[first : first + len(tokens)] = self._encode(rows.ravel(), starts)
            if progress is not None:
                progress(first + len(tokens), count)
        return vectors

    def tokenizer_file(self) -> bytes:
        """The model's tokenizer as a tokenizers file, for a model distilled from it."""
        if "tokenizer.json" in self._card.files:
            return read_verified(self._card, "tokenizer.json")
        return shipped_tokenizers_file(self._encoder.strings)

    def _embed(self, texts: list[str], kind: int) -> NDArray[np.float32]:
        ids, starts = self._tokenizer.encode(texts, self._card.head_tokens, self._card.max_tokens)
        vectors = self._encode(ids, starts)
        if self._common is None:
            return vectors
        return _without_common(vectors, self._common[kind], self._common[2:])

    def _encode(self, ids: Ids, starts: Ids) -> NDArray[np.float32]:
        """Vectors of texts, as many to a pass as it takes in well."""
        vectors = np.empty((len(starts) - 1, self.dimension), np.float32)
        first = 0
        while first < len(vectors):
            last = int(np.searchsorted(starts, starts[first] + TOKENS_PER_PASS, "right")) - 1
            last = max(last, first + 1)
            part = slice(starts[first], starts[last])
            vectors[first:last] = self._encoder.encode(ids[part], starts[first : last + 1] - starts[first])
            first = last
        if not np.isfinite(vectors).all():
            row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            tokens = ids[starts[row] : starts[row + 1]][:20].tolist()
            raise ModelError(f"model {self._card.id} gave a vector that is not finite for tokens {tokens}")
        return vectors


def _without_common(
    vectors: NDArray[np.float32], centre: NDArray[np.float32], directions: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Unit vectors without the centre and the directions. One that has nothing else stays as it is.

    Sums are added up in one order, so that a text has the same bits alone and among others, on every machine.
    """
    moved = vectors - centre
    for direction in directions:
        moved -= _row_sums(moved * direction) * direction
    lengths = np.sqrt(_row_sums(moved * moved))
    return np.where(lengths > 1e-6, moved / np.maximum(lengths, 1e-6), vectors)


def _row_sums(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[rows, 1]; `sum` would add up in an order that depends on the machine."""
    found: NDArray[np.float32] = np.cumsum(values, axis=1, dtype=np.float64)[:, -1:].astype(np.float32)
    return found


def _load_common(card: EncoderCard) -> NDArray[np.float32] | None:
    if COMMON not in card.files:
        return None
    try:
        common = np.load(io.BytesIO(read_verified(card, COMMON)), allow_pickle=False)
    except ValueError as error:
        raise ModelError(f"model {card.id}: {card.file(COMMON)} is no array: {error}") from error
    if (
        common.dtype != np.float32
        or common.ndim != 2
        or common.shape[0] < 2
        or common.shape[1] != card.dimension
        or not np.isfinite(common).all()
    ):
        raise ModelError(
            f"model {card.id}: {card.file(COMMON)} is {common.dtype}{list(common.shape)}, "
            f"not finite float32[2 or more, {card.dimension}]"
        )
    found: NDArray[np.float32] = common
    return found


def _load_encoder(card: EncoderCard) -> Encoder:
    kernel = os.environ.get(KERNEL) or None
    if kernel is not None and kernel not in kernels():
        raise ModelError(f"{KERNEL} is {kernel!r}; this processor runs {', '.join(kernels())}")
    content = map_verified(card, "encoder.bin")
    try:
        encoder = Encoder(content, kernel)
    except ValueError as error:
        raise ModelError(f"model {card.id}: {card.file('encoder.bin')} {error}") from error
    if encoder.width != card.dimension:
        raise ModelError(
            f"model {card.id}: encoder.bin gives {encoder.width} dimensions, its card says {card.dimension}"
        )
    if card.max_tokens > encoder.positions:
        raise ModelError(
            f"model {card.id}: encoder.bin reads {encoder.positions} tokens at most, its card says "
            f"max_tokens = {card.max_tokens}"
        )
    return encoder


def _load_tokenizer(card: EncoderCard, encoder: Encoder) -> Tokenizer:
    if "tokenizer.json" in card.files:
        tokenizer = load_tokenizer(card)
    else:
        try:
            tokenizer = shipped_tokenizer(encoder.strings)
        except ValueError as error:
            raise ModelError(f"model {card.id}: the vocabulary in encoder.bin {error}") from error
    if len(tokenizer) > encoder.vocabulary:
        raise ModelError(
            f"model {card.id}: its tokenizer has {len(tokenizer)} tokens, encoder.bin {encoder.vocabulary}"
        )
    return tokenizer
