"""Embedders: text in, unit-length float32 vectors out. `load_embedder` finds the right one by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "load_embedder"]


class Embedder(Protocol):
    """What the store and the engine need of an embedding model. Several threads may call it at once."""

    @property
    def model_id(self) -> str:
        """Names the model, its weights and settings: vectors with different ids must never be compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only. Raises ModelError where the model cannot be run."""

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension]; `progress` hears how many texts are done so far."""


def load_embedder(model: str = "default") -> Embedder:
    """The embedder of a model: "default", a card's id or path, or a sentence-transformers name or folder.

    Only an endpoint, and a sentence-transformers name that is not on this machine, ever use the network.
    Raises ModelError where the model is unknown, incomplete or altered, or what runs it is not installed.
    """
    from pi_rank.embedding import cards, registry

    card = registry.find_card(model)
    if isinstance(card, cards.EncoderCard):
        from pi_rank.embedding.encoder import EncoderEmbedder

        return EncoderEmbedder(card)
    if isinstance(card, cards.OnnxCard):
        from pi_rank.embedding.onnx import OnnxEmbedder

        return OnnxEmbedder(card)
    if isinstance(card, cards.StaticCard):
        from pi_rank.embedding.static import StaticEmbedder

        return StaticEmbedder(card)
    if isinstance(card, cards.EndpointCard):
        from pi_rank.embedding.openai_compatible import EndpointEmbedder

        return EndpointEmbedder(card)
    from pi_rank.embedding.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(card)
