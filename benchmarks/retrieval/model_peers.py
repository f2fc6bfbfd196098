"""Other engines that run the default model's weights, as embedders that `models` measures beside ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.embedding.registry import find_card

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pi_rank.embedding import Embedder

    Floats = NDArray[np.float32]

TOKENS_PER_BATCH = 4096  # CTranslate2 sorts texts by length into batches of so many tokens, padding included


def onnxruntime() -> Embedder:
    """The same int8 weights as a graph for onnxruntime. Needs the extras onnx and peers."""
    from pi_rank.embedding.onnx import OnnxEmbedder
    from pi_rank.embedding.registry import read_card
    from tests.support.onnx_graph import write_card

    with tempfile.TemporaryDirectory() as folder:
        card: Any = read_card(write_card(find_card("default"), Path(folder)))
        return OnnxEmbedder(card)


class CTranslate2:
    """The float weights of a folder in int8, by CTranslate2. Needs ctranslate2, transformers and torch."""

    def __init__(self, folder: str) -> None:
        import ctranslate2
        from ctranslate2.converters import TransformersConverter
        from tokenizers import Tokenizer

        self._card: Any = find_card("default")
        self._tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._card.max_tokens)
        with tempfile.TemporaryDirectory() as made:
            TransformersConverter(folder).convert(made, quantization="int8", force=True)
            # One text is one thread's work, as with ours; texts are on all cores.
            self._one = ctranslate2.Encoder(made, compute_type="int8", intra_threads=1)
            self._all = ctranslate2.Encoder(made, compute_type="int8")

    @property
    def model_id(self) -> str:
        return "ctranslate2"

    @property
    def dimension(self) -> int:
        dimension: int = self._card.dimension
        return dimension

    def embed_query(self, text: str) -> Floats:
        return self._vectors(self._one, [self._ids(text)])[0]

    def embed_documents(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Floats:
        ids = [self._ids(text) for text in texts]
        vectors = np.empty((len(ids), self.dimension), np.float32)
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        first = 0
        while first < len(order):
            last = first + 1
            while last < len(order) and (last - first + 1) * len(ids[order[last]]) <= TOKENS_PER_BATCH:
                last += 1
            rows = order[first:last]
            vectors[rows] = self._vectors(self._all, [ids[row] for row in rows])
            first = last
        return vectors

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def _vectors(self, encoder: Any, ids: list[list[int]]) -> Floats:
        hidden = np.array(encoder.forward_batch(ids).last_hidden_state)
        lengths = np.array([len(row) for row in ids])
        within = np.arange(hidden.shape[1]) < lengths[:, None]
        mean = np.where(within[:, :, None], hidden, 0).sum(axis=1) / lengths[:, None]
        found: Floats = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return found
