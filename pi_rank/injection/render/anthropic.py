"""Anthropic Messages: https://docs.anthropic.com/en/api/messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from pi_rank._core.history import parts_with
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Block
from pi_rank.injection.render.boundaries import at_boundaries
from pi_rank.injection.render.portable import (
    image,
    newer_block,
    skip,
    thinking,
    tool_result,
    tool_use,
    without_own_keys,
)
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.tool_changes import Definition, anthropic_parts, change_of, definitions_in
from pi_rank.injection.render.turns import Apart, Turn, turns

MAX_BREAKPOINTS = 4
CACHE_CONTROL = {"type": "ephemeral"}


def render(
    messages: Sequence[Any], dialect: Dialect, rules: RenderRules, used_breakpoints: int
) -> list[dict[str, Any]]:
    """The `messages` of a request: tool results first, operator text as `system`, breakpoints set.

    :param used_breakpoints: cache_control already spent on tools and system; a request may have four in all.
    """
    rendered: list[dict[str, Any]] = []
    per_call: dict[int, int] = {}  # message → how many parts at its end are for this call only
    operator = Apart(rules.system_messages, rules.tool_changes == "blocks")
    known: dict[str, Definition] = {}  # tools defined by value so far, which later blocks add again by digest
    for turn in turns(messages, dialect, "anthropic", operator):
        if isinstance(turn, dict):
            rendered.append(turn)
            continue
        content, passing = _content(turn.blocks, turn)
        if passing:
            per_call[len(rendered)] = passing
        if content:
            rendered.append({"role": turn.role, "content": content})
        known.update(definitions_in(turn.operator))
        rendered += operator_messages(turn.operator, rules, known)
    rendered = at_boundaries(rendered, per_call)
    if rules.breakpoints:
        ends = islice(_ends(rendered, per_call), rules.breakpoints)
        _set_breakpoints(ends, used_breakpoints + parts_with(rendered, "cache_control"))
    return rendered


def operator_messages(
    blocks: Sequence[Block], rules: RenderRules, known: dict[str, Definition]
) -> Iterator[dict[str, Any]]:
    """The operator's blocks as `system` messages; text that holds for this turn only in one of its own."""
    for scoped, group in groupby(blocks, lambda block: rules.turn_scoped and _is_of_this_turn(block)):
        content = [part for block in group for part in _operator_parts(block, known)]
        yield {"role": "system", "content": content, **({"clear_at": "next_user_message"} if scoped else {})}


def _operator_parts(block: Block, known: dict[str, Definition]) -> Iterator[dict[str, Any]]:
    change = change_of(block.mark)
    if change is not None:
        yield from anthropic_parts(change, known)
    else:
        yield {"type": "text", "text": block.text.lstrip("\n")}


def _is_of_this_turn(block: Block) -> bool:
    return block.mark is not None and block.mark.rendering == "turn"


def _content(blocks: Sequence[Block], turn: Turn) -> tuple[list[dict[str, Any]], int]:
    """The parts of a message, tool results first, and how many of them are for this call only."""
    first = [b for b in blocks if b.kind == "tool_result"] if turn.role == "user" else []
    ordered = [*first, *(b for b in blocks if b.kind != "tool_result")] if first else blocks
    content: list[dict[str, Any]] = []
    per_call = 0
    for block in ordered:
        part = _part(block, turn)
        if part is not None:
            content.append(part)
            per_call += block.mark is not None and block.mark.per_call
    return content, per_call


def _part(block: Block, turn: Turn) -> dict[str, Any] | None:
    if block.kind == "text":
        return _text(block) if block.text else None
    if turn.dialect != "anthropic":
        return _foreign(block, turn)
    return newer_block(block, "anthropic") if block.kind == "unknown" else without_own_keys(block.raw)


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


def _ends(
    rendered: list[dict[str, Any]], per_call: dict[int, int]
) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """The user turns, newest first: their parts, and the index of the last one that stays in the history.

    A trailing system message has no place among them: a breakpoint on it may never match.
    """
    for index in range(len(rendered) - 1, -1, -1):
        content = rendered[index]["content"]
        stored = len(content) - per_call.get(index, 0)
        if stored and rendered[index]["role"] == "user":
            yield content, stored - 1


def _set_breakpoints(ends: Iterable[tuple[list[dict[str, Any]], int]], used: int) -> None:
    """A breakpoint at each end that has none yet, until a request's four are spent."""
    for content, end in ends:
        if used < MAX_BREAKPOINTS and "cache_control" not in content[end]:
            content[end] = {**content[end], "cache_control": CACHE_CONTROL}
            used += 1
