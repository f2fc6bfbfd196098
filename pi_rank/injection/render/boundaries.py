"""Where a `system` message may stand among the messages of a request.

"After a user message (tool results count), before an assistant message or last; never first, never between a
call
and its result": platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
"""

from __future__ import annotations

from typing import Any

from pi_rank.injection.render.portable import logger


def at_boundaries(rendered: list[dict[str, Any]], per_call: dict[int, int]) -> list[dict[str, Any]]:
    """The messages with each `system` one where the provider takes it: after a user message, before the
    assistant's next or at the end. A user message that follows it, as after a failed call, comes first.

    :param per_call: message → count, moved along with the messages.
    """
    if not any(message["role"] == "system" for message in rendered):
        return rendered
    placed: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    moved: dict[int, int] = {}
    for index, message in enumerate(rendered):
        if message["role"] == "system":
            held.append(message)
            continue
        if message["role"] == "assistant" and placed and placed[-1]["role"] == "user":
            placed += held
            held = []
        if index in per_call:
            moved[len(placed)] = per_call[index]
        placed.append(message)
    per_call.clear()
    per_call.update(moved)
    return placed + held if placed and placed[-1]["role"] == "user" else [*placed, *_unplaced(held)]


def _unplaced(held: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nothing: a system message that no user message precedes waits for the next request."""
    if held:
        logger.info("%d system messages wait for a user message", len(held))
    return []
