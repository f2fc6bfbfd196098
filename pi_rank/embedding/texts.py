"""What the embedders share: which part of a text they read, its tokens, and vectors of recent queries."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from pi_rank.embedding.registry import read_verified
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pi_rank.embedding.cards import FileCard

CACHED_QUERIES = 1024  # vectors: 1.5 MB at 384 dimensions
MAX_CHARACTERS = 8_192  # read of a text, half from each end: six times what 256 tokens of English need


class VectorCache:
    """The vectors of the queries asked for last, read-only. Threads may share it."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, text: str, compute: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        """The text's vector, from `compute` where it is not kept; two threads may both compute it."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = compute()
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > CACHED_QUERIES:
                self._vectors.popitem(last=False)
        return vector


def readable(text: str) -> str:
    """Both ends of a very long text; surrogate pairs joined, lone surrogates replaced: UTF-8 has neither."""
    if len(text) > MAX_CHARACTERS:
        half = MAX_CHARACTERS // 2
        text = f"{text[:half]} {text[-half:]}"
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def load_tokenizer(card: FileCard) -> Any:  # noqa: ANN401
    """The card's tokenizer.json, as a tokenizers.Tokenizer that neither pads nor truncates.

    Raises ModelError where the file is missing, altered, or no tokenizers file.
    """
    from tokenizers import Tokenizer

    content = read_verified(card, "tokenizer.json")
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except ValueError as error:
        raise ModelError(f"model {card.id}: tokenizer.json is not a tokenizers file: {error}") from error
    # Many such files pad and cut to 128 tokens: short texts get slow, long ones lose their end.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
