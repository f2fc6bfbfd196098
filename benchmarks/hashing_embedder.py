"""An embedder without a model: random word vectors, summed. For measuring everything but the model.

Texts that share rare words are near each other, as with a real model, and 100,000 texts take seconds.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt


class HashingEmbedder:
    """Bag of words over Gaussian word vectors that depend on nothing but the word."""

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension
        self.model_id = f"hashing-spectrum-{dimension}"
        # As in a model's embeddings a few directions dominate: where all count alike, no graph finds its way.
        self._spectrum = (1 / np.sqrt(np.arange(1, dimension + 1))).astype(np.float32)
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def _word(self, word: str) -> npt.NDArray[np.float32]:
        vector = self._vectors.get(word)
        if vector is None:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
            vector = np.random.default_rng(seed).standard_normal(self.dimension, dtype=np.float32)
            vector *= self._spectrum
            self._vectors[word] = vector
        return vector

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """float32[dimension], unit length."""
        total = np.sum([self._word(word) for word in text.split() or [""]], axis=0, dtype=np.float32)
        return np.asarray(total / math.sqrt(float(total @ total)), np.float32)

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> npt.NDArray[np.float32]:
        """float32[len(texts), dimension], unit length."""
        rows = []
        for text in texts:
            rows.append(self.embed_query(text))
            if progress is not None:
                progress(1)
        return np.array(rows, np.float32).reshape(len(texts), self.dimension)
