"""An estimate of tokens without a tokenizer: four bytes of ASCII or three of anything else make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Message, view

MESSAGE_OVERHEAD_TOKENS = 4


def estimate_tokens(text: str) -> int:
    """Tokens of a text, rounded up. Meant for budgets and reports; no model's own count is reproduced."""
    ascii_bytes = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_bytes
    return -(-(3 * ascii_bytes + 4 * other_bytes) // 12)


def estimate_call_tokens(messages: Sequence[Any], dialect: Dialect | None = None) -> int:
    """Tokens of a call's messages, injected text included: pass what is sent (`InjectionResult.outgoing`)."""
    return sum(map(_message_tokens, view(messages, dialect)))


def tokens_from_end(messages: Sequence[Any], tokens: int, dialect: Dialect | None = None) -> int:
    """Where the messages begin that hold the last so many tokens; 0 where all of them do not."""
    views, left = view(messages, dialect), tokens
    for index in range(len(views) - 1, -1, -1):
        left -= _message_tokens(views[index])
        if left <= 0:
            return index
    return 0


def _message_tokens(message: Message) -> int:
    blocks = (block for block in message.blocks if block.kind not in ("cache_point", "media"))
    texts = (block.text if block.kind == "text" else str(block.raw) for block in blocks)
    return MESSAGE_OVERHEAD_TOKENS + sum(map(estimate_tokens, texts))
