"""An embedder that remembers its queries' vectors in a file, so that a second run embeds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from pi_rank.embedding import Embedder
    from pi_rank.embedding.cards import Calibration

    Vectors = npt.NDArray[np.float32]


class CachedEmbedder:
    """`embedder`, asked once for each query text. Documents are the store's to remember.

    :param folder: holds one file per model; `save` writes it.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self.model_id = embedder.model_id
        self.dimension = embedder.dimension
        self.calibration: Calibration | None = getattr(embedder, "calibration", None)
        self._embedder = embedder
        self._path = folder / f"queries-{embedder.model_id.replace('/', '_')}.npz"
        self._vectors: dict[str, Vectors] = {}
        self._new = False
        if self._path.is_file():
            with np.load(self._path) as saved:
                self._vectors = dict(zip(saved["texts"].tolist(), saved["vectors"], strict=True))

    def embed_query(self, text: str) -> Vectors:
        """float32[dimension], unit length."""
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed_query(text)
            self._new = True
        return self._vectors[text]

    def embed_documents(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """float32[len(texts), dimension], unit length."""
        return self._embedder.embed_documents(texts, progress)

    def save(self) -> None:
        """Writes what is new."""
        if self._new:
            texts = np.array(list(self._vectors), dtype=np.str_)
            np.savez(self._path, texts=texts, vectors=np.array(list(self._vectors.values())))
            self._new = False
