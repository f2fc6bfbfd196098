"""The shipped vocabulary in `tokenizers` and in the compiled WordPiece, side by side."""

from __future__ import annotations

from functools import cache

from pi_rank._core.wordpiece import WordPiece
from pi_rank.embedding import registry


@cache
def shipped_strings() -> bytes:
    """The shipped model's tokens, a line each."""
    import json

    model = json.loads((registry.cards_folder() / "static-256" / "tokenizer.json").read_bytes())["model"]
    return "\n".join(sorted(model["vocab"], key=model["vocab"].get)).encode()


@cache
def shipped_pieces() -> WordPiece:
    return WordPiece(shipped_strings())


@cache
def oracle():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(registry.cards_folder() / "static-256" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
