"""Anthropic Messages: https://docs.anthropic.com/en/api/messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.messages import Block, Message
from pi_rank.injection.render.portable import image, skip, thinking, tool_result, tool_use, without_own_keys
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.turns import Turn, turns

MAX_BREAKPOINTS = 4
CACHE_CONTROL = {"type": "ephemeral"}


def render(messages: Sequence[Message], rules: RenderRules, used_breakpoints: int) -> list[dict[str, Any]]:
    """The `messages` of a request: tool results first, operator text as `system`, breakpoints set.

    :param used_breakpoints: cache_control already spent on tools and system; a request may have four in all.
    """
    rendered: list[dict[str, Any]] = []
    ends: list[tuple[int, int]] = []  # (message, block) that a breakpoint of a user turn goes on
    for turn in turns(messages, "system" if rules.system_messages else None, "anthropic"):
        if turn.ready is not None:
            content, stored = turn.ready, len(turn.ready)
        else:
            content, stored = _content(turn.blocks, turn)
        if not content:
            continue
        rendered.append({"role": turn.role, "content": content})
        if turn.role == "user" and stored:
            ends.append((len(rendered) - 1, stored - 1))
        if turn.operator:
            rendered.append({"role": "system", "content": [_text(block) for block in turn.operator]})
    _set_breakpoints(rendered, ends[-rules.breakpoints :] if rules.breakpoints else [], used_breakpoints)
    return rendered


def _content(blocks: Sequence[Block], turn: Turn) -> tuple[list[dict[str, Any]], int]:
    """The parts of a message, tool results first, and how many of them are not for this call only."""
    first = [b for b in blocks if b.kind == "tool_result"] if turn.role == "user" else []
    ordered = [*first, *(b for b in blocks if b.kind != "tool_result")] if first else blocks
    content: list[dict[str, Any]] = []
    per_call = 0
    for block in ordered:
        part = _part(block, turn)
        if part is not None:
            content.append(part)
            per_call += block.mark is not None and block.mark.per_call
    return content, len(content) - per_call


def _part(block: Block, turn: Turn) -> dict[str, Any] | None:
    if block.kind == "text":
        return _text(block) if block.text else None
    if block.kind == "unknown":
        skip(block, "its type is unknown")
        return None
    if turn.dialect == "anthropic":
        return without_own_keys(block.raw)
    return _foreign(block, turn)


def _text(block: Block) -> dict[str, Any]:
    if isinstance(block.raw, dict) and block.raw.get("type") == "text":
        return without_own_keys(block.raw)
    return {"type": "text", "text": block.text}


def _foreign(block: Block, turn: Turn) -> dict[str, Any] | None:
    if block.kind == "tool_use" and (call := tool_use(block.raw)):
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
    if block.kind == "tool_result" and (result := tool_result(block.raw)):
        part = {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
        return {**part, "is_error": True} if result.is_error else part
    if block.kind == "reasoning" and (thought := thinking(block.raw)) is not None:
        return thought
    picture = image(block.raw, turn.dialect) if block.kind == "media" else None
    if picture is None:
        skip(block, "Anthropic has no form for it")
        return None
    if picture.url:
        return {"type": "image", "source": {"type": "url", "url": picture.url}}
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": picture.media_type, "data": picture.data},
    }


def _set_breakpoints(rendered: list[dict[str, Any]], ends: list[tuple[int, int]], used: int) -> None:
    """A breakpoint at the end of the newest user turns, never on a trailing system message, four at most."""
    used += sum("cache_control" in part for message in rendered for part in message["content"])
    for index, end in reversed(ends):
        part = rendered[index]["content"][end]
        if used < MAX_BREAKPOINTS and "cache_control" not in part:
            rendered[index]["content"][end] = {**part, "cache_control": CACHE_CONTROL}
            used += 1
