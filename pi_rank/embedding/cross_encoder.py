"""A reranker on sentence-transformers' CrossEncoder. Imports torch, so only when one is made."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.embedding.texts import readable
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

# What a checkpoint without a head that scores is called; loading one makes a head of random numbers.
_HEADLESS = ("Model", "ForMaskedLM", "ForPreTraining")


class CrossEncoderReranker:
    """A `Reranker` for a cross-encoder that gives one score for a query and a text. Threads may share it.

    :param source: the model's name or folder, as sentence-transformers takes it. A name is downloaded.
    :param max_length: tokens read of query and text together; the model's own limit by default.
    :raises ModelError: sentence-transformers is missing, cannot load the model, or it is no cross-encoder.
    """

    def __init__(self, source: str | Path, *, max_length: int | None = None) -> None:
        self._source = str(source)
        self._model = _load(self._source, max_length)
        self._turn = threading.Lock()  # a tokenizer that is in use refuses to be set up for another batch
        shape = self.scores("query", ["text"]).shape
        if shape != (1,):
            raise ModelError(f"{self._source!r} gives {shape[-1]} scores for a text; a reranker needs one")

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """float64 [len(texts)], as the model gives them: higher is better."""
        pairs = [(readable(query), readable(text)) for text in texts]
        with self._turn:
            found = self._model.predict(pairs, show_progress_bar=False)
        return np.asarray(found, np.float64)


def _load(source: str, max_length: int | None) -> Any:  # noqa: ANN401
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ModelError("a cross-encoder needs: pip install 'pi-rank[sentence-transformers]'")
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(source, device="cpu", max_length=max_length)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise ModelError(
            f"sentence-transformers cannot load the cross-encoder {source!r}: {error}"
        ) from error
    for architecture in model.config.architectures or ():
        if architecture.endswith(_HEADLESS) and not architecture.endswith("LMHeadModel"):
            raise ModelError(
                f"{source!r} is no cross-encoder: {architecture} has no layer that scores a pair"
            )
    return model
