"""Any sentence-transformers model by name or folder. Imports torch, so only when such a model is loaded."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.embedding.cards import SentenceTransformersCard
from pi_rank.embedding.registry import shipped_cards
from pi_rank.embedding.runtime import silence_onnxruntime
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

TEXTS_PER_BATCH = 32
READ_BLOCK = 1 << 20  # bytes
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


class SentenceTransformersEmbedder:
    """An embedder for a `SentenceTransformersCard`, with the model's own prompts. Vectors have unit length.

    In a batch, float arithmetic may move a vector by about 1e-7 from that of the same text alone.
    """

    def __init__(self, card: SentenceTransformersCard) -> None:
        self._card = card
        self._model = _load(card)
        prompts: dict[str, str] = self._model.prompts
        # A "document" prompt that is absent may be listed as empty; it must not hide a "passage" prompt.
        self._query_prompt = next(filter(None, map(prompts.get, _QUERY_PROMPTS)), "")
        self._document_prompt = next(filter(None, map(prompts.get, _DOCUMENT_PROMPTS)), "")
        self.dimension = len(self._encode(["dimension"], "")[0])
        self.model_id = self._describe()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only."""
        vector: NDArray[np.float32] = self._encode([text], self._query_prompt)[0]
        vector.setflags(write=False)
        return vector

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension]; `progress` is called after each batch."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            part = texts[start : start + TEXTS_PER_BATCH]
            vectors[start : start + len(part)] = self._encode(part, self._document_prompt)
            if progress is not None:
                progress(start + len(part))
        return vectors

    def _encode(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        readable = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        found = self._model.encode(
            readable, prompt=prompt, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        vectors: NDArray[np.float32] = np.asarray(found, np.float32)
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self._card.id} gave a vector with a value that is not finite")
        return vectors

    def _describe(self) -> str:
        """The source with a digest of all that a vector depends on; a folder counts by its content."""
        folder = Path(self._card.source)
        weights = _folder_digest(folder) if folder.is_dir() else _revision(self._model)
        settings = (self._card.backend, self.dimension, self._query_prompt, self._document_prompt, weights)
        digest = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]
        return f"sentence-transformers:{folder.name if folder.is_dir() else self._card.source}@{digest}"


def _load(card: SentenceTransformersCard) -> Any:  # noqa: ANN401
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ModelError(
            f"{card.source!r} is none of the models that ship with pi-rank ({', '.join(shipped_cards())}), "
            "and to run it with sentence-transformers needs: pip install 'pi-rank[sentence-transformers]'"
        )
    silence_onnxruntime()  # the onnx backend imports it
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(
            card.source, device="cpu", backend=card.backend, truncate_dim=card.truncate_dimension
        )
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise ModelError(
            f"sentence-transformers cannot load {card.source!r} with the {card.backend} backend: {error}"
        ) from error


def _folder_digest(folder: Path) -> str:
    """sha256 over the names and contents of a model folder's files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode())
        content = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(READ_BLOCK):
                content.update(block)
        digest.update(content.digest())
    return digest.hexdigest()


def _revision(model: Any) -> str:  # noqa: ANN401
    """The commit that a downloaded model came from, where it is known."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    return str(getattr(config, "_commit_hash", None))
