"""Runs a transformer through onnxruntime and tokenizers: no torch, no network, one thread for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.embedding.cards import OnnxCard
from pi_rank.embedding.registry import read_verified
from pi_rank.embedding.runtime import import_onnxruntime
from pi_rank.embedding.texts import VectorCache, on_all_cores
from pi_rank.embedding.tokenizer import load_tokenizer
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxEmbedder:
    """An embedder for an `OnnxCard`. Loading checks the files' sha256; vectors have unit length.

    Every text runs through the graph alone. An int8 graph takes one scale for all activations of a run, so in
    a batch a text's vector would depend on its neighbours (cosine 0.991 was seen). Alone it is always the
    same, and a batch would be no faster: many texts run at once on many cores instead.
    """

    def __init__(self, card: OnnxCard) -> None:
        self.model_id = card.model_id
        self.dimension = card.dimension
        self.calibration = card.calibration
        self._card = card
        self._tokenizer = load_tokenizer(card)
        self._session = _load_session(card)
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._cache = VectorCache()
        self._check_layout()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only; recent queries are answered from memory."""
        return self._cache.get(text, lambda: self._embed(self._card.query_prompt + text))

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension], on all cores; `progress` is called in this thread."""
        vectors = np.empty((len(texts), self.dimension), np.float32)

        def embed(part: Sequence[str]) -> NDArray[np.float32]:
            return np.stack([self._embed(self._card.document_prompt + text) for text in part])

        on_all_cores(embed, texts, vectors, progress)
        return vectors

    def plain_tokens(self, text: str) -> Sequence[int]:
        """Token ids of `text` without the model's own marks, as a static model sees them."""
        return self._tokenizer.plain(text)

    def embed_tokens(self, progress: Callable[[int, int], None] | None = None) -> NDArray[np.float32]:
        """Unit-length float32 [vocabulary, dimension]: of each token alone between the model's marks."""
        count = len(self._tokenizer)
        marks = self._tokens("")
        half = len(marks) // 2
        vectors = np.empty((count, self.dimension), np.float32)
        for token in range(count):
            vectors[token] = self._pooled([*marks[:half], token, *marks[half:]])
            if progress is not None and (token + 1 == count or token % 1000 == 0):
                progress(token + 1, count)
        return vectors

    def tokenizer_file(self) -> bytes:
        """The model's tokenizers file, for a model distilled from it."""
        return read_verified(self._card, "tokenizer.json")

    def _tokens(self, text: str) -> list[int]:
        ids, _ = self._tokenizer.encode([text], self._card.head_tokens, self._card.max_tokens)
        found: list[int] = ids.tolist()
        return found

    def _embed(self, text: str) -> NDArray[np.float32]:
        return self._pooled(self._tokens(text))

    def _pooled(self, ids: list[int]) -> NDArray[np.float32]:
        hidden = self._run(np.array([ids], np.int64))[0]
        pooled = hidden.mean(axis=0) if self._card.pooling == "mean" else hidden[0].copy()
        length = float(np.linalg.norm(pooled))
        if not 0 < length < float("inf"):
            raise ModelError(f"model {self._card.id} gave a vector of length {length} for tokens {ids[:20]}")
        pooled /= length
        vector: NDArray[np.float32] = pooled
        return vector

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The last hidden state, float32 [1, tokens, dimension]."""
        values = dict(zip(_INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
        hidden: NDArray[np.float32] = self._session.run(None, {name: values[name] for name in self._inputs})[
            0
        ]
        return hidden

    def _check_layout(self) -> None:
        """Runs one token, so that a graph of another layout is refused here and not in a turn."""
        card = self._card
        if not set(self._inputs) <= set(_INPUTS):
            raise ModelError(
                f"model {card.id}: model.onnx wants the inputs {', '.join(self._inputs)}; "
                f"a text encoder has no others than {', '.join(_INPUTS)}"
            )
        shape = self._run(np.zeros((1, 1), np.int64)).shape
        if shape != (1, 1, card.dimension):
            raise ModelError(
                f"model {card.id}: model.onnx gives {shape} for one token, "
                f"its card says {(1, 1, card.dimension)}"
            )


def _load_session(card: OnnxCard) -> Any:  # noqa: ANN401
    try:
        onnxruntime = import_onnxruntime()
    except ImportError as error:
        raise ModelError(
            f"model {card.id} needs onnxruntime, which is not installed: pip install 'pi-rank[onnx]'"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only, which are raised as well
    content = read_verified(card, "model.onnx")
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exception classes share no nearer base
        raise ModelError(
            f"model {card.id}: onnxruntime {onnxruntime.__version__} cannot load model.onnx: {error}. "
            "If it is an old one: pip install --upgrade onnxruntime"
        ) from error
