"""Per-call mode: the text in a copy of the message, for one request; the stored history never holds it."""

from __future__ import annotations

from typing import Any

from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.marks import Mark, mark_to_dict, with_message_mark

CACHE_CONTROL = {"type": "ephemeral"}


def with_text_for_one_call(raw: dict[str, Any], text: str, mark: Mark, dialect: Dialect) -> dict[str, Any]:
    """A copy of the message with the marked text at its end and a cache point before it.

    The cache point keeps the text out of what the provider stores: the next request, without it, can still
    match up to there. OpenAI's caches take no cache points.
    """
    copy = {**raw, "metadata": with_message_mark(raw, mark)}
    if isinstance(copy["content"], str) and dialect not in ("anthropic", "strands"):
        return {**copy, "content": copy["content"] + text}
    content = copy["content"]
    parts = [dialects.text_part(content, dialect)] if isinstance(content, str) else list(content)
    added = {**dialects.text_part(text, dialect), "metadata": {"injected": mark_to_dict(mark)}}
    return {**copy, "content": [*_with_cache_point(parts, dialect), added]}


def _with_cache_point(parts: list[Any], dialect: Dialect) -> list[Any]:
    if not parts:
        return parts
    if dialect == "strands":
        return [*parts, {"cachePoint": {"type": "default"}}]
    if dialect == "anthropic" and isinstance(parts[-1], dict):
        return [*parts[:-1], {**parts[-1], "cache_control": CACHE_CONTROL}]
    return parts
