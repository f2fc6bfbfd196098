"""An estimate of tokens without a tokenizer: four bytes of ASCII or three of anything else make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import view

MESSAGE_OVERHEAD_TOKENS = 4


def estimate_tokens(text: str) -> int:
    """Tokens of a text, rounded up. Meant for budgets and reports; no model's own count is reproduced."""
    ascii_bytes = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_bytes
    return -(-(3 * ascii_bytes + 4 * other_bytes) // 12)


def estimate_call_tokens(messages: Sequence[Any], dialect: Dialect | None = None) -> int:
    """Tokens of a call's messages, injected text included: pass what is sent (`InjectionResult.outgoing`)."""
    total = 0
    for message in view(messages, dialect):
        total += MESSAGE_OVERHEAD_TOKENS
        for block in message.blocks:
            if block.kind not in ("cache_point", "media"):
                total += estimate_tokens(block.text if block.kind == "text" else str(block.raw))
    return total
