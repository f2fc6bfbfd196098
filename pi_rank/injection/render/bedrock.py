"""Bedrock Converse: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pi_rank._core.history import parts_with
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Block
from pi_rank.injection.render.boundaries import at_boundaries
from pi_rank.injection.render.portable import (
    image,
    image_bytes,
    newer_block,
    reasoning_content,
    skip,
    tool_result,
    tool_use,
    without_own_keys,
)
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.tool_changes import bedrock_parts, change_of
from pi_rank.injection.render.turns import Apart, Turn, turns

MAX_CACHE_POINTS = 4  # https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
CACHE_POINT = {"cachePoint": {"type": "default"}}
TOOL_RESULTS_SEEN = "Tool results received."


def render(
    messages: Sequence[Any], dialect: Dialect, rules: RenderRules, used_breakpoints: int = 0
) -> list[dict[str, Any]]:
    """The `messages` of a request: one-key blocks, strict models' turns split, cache points set.

    :param used_breakpoints: cache points already spent on tools and system; a request may have four in all.
    """
    rendered: list[dict[str, Any]] = []
    per_call: dict[int, int] = {}  # message → how many parts at its end are for this call only
    operator = Apart(rules.system_messages, rules.tool_changes == "blocks")
    for turn in turns(messages, dialect, "strands", operator):
        if isinstance(turn, dict):
            rendered.append(turn)
            continue
        content: list[dict[str, Any]] = []
        passing = 0
        for block in turn.blocks:
            part = _part(block, turn)
            if part is not None:
                content.append(part)
                passing += block.mark is not None and block.mark.per_call
        if passing:
            per_call[len(rendered)] = passing
        if content:
            rendered.append({"role": turn.role, "content": content})
        if turn.operator:
            parts = [part for block in turn.operator for part in operator_parts(block)]
            rendered.append({"role": "system", "content": parts})
    rendered = at_boundaries(rendered, per_call)
    if rules.cache == "cache_points":
        used = used_breakpoints + parts_with(rendered, "cachePoint")
        _set_cache_points(rendered, per_call, min(rules.breakpoints, MAX_CACHE_POINTS - used))
    return split_tool_results(rendered) if rules.tool_result_text == "split" else rendered


def operator_parts(block: Block) -> Iterator[dict[str, Any]]:
    """An operator's block as parts of a `system` message."""
    change = change_of(block.mark)
    if change is not None:
        yield from bedrock_parts(change)
    else:
        yield {"text": block.text.lstrip("\n")}


def _part(block: Block, turn: Turn) -> dict[str, Any] | None:
    if block.kind == "text":
        return {"text": block.text} if block.text else None
    if turn.dialect == "strands":
        return newer_block(block, "strands") if block.kind == "unknown" else without_own_keys(block.raw)
    if block.kind == "tool_use" and (call := tool_use(block.raw)):
        return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.input}}
    if block.kind == "tool_result" and (result := tool_result(block.raw)):
        status = "error" if result.is_error else "success"
        return {"toolResult": {"toolUseId": result.id, "status": status, "content": [{"text": result.text}]}}
    if block.kind == "reasoning" and (thought := reasoning_content(block.raw)) is not None:
        return {"reasoningContent": thought}
    return _foreign_image(block, turn)


def _foreign_image(block: Block, turn: Turn) -> dict[str, Any] | None:
    picture = image(block.raw, turn.dialect) if block.kind == "media" else None
    data = image_bytes(picture) if picture is not None and picture.data else None
    if picture is None or data is None:
        skip(block, "Bedrock has no form for it")
        return None
    return {"image": {"format": picture.media_type.removeprefix("image/"), "source": {"bytes": data}}}


def _set_cache_points(rendered: list[dict[str, Any]], per_call: dict[int, int], count: int) -> None:
    newest = [index for index, message in enumerate(rendered) if message["role"] == "user"][::-1]
    for index in newest[: max(0, count)]:
        content = rendered[index]["content"]
        stored = len(content) - per_call.get(index, 0)
        if stored and not any("cachePoint" in part for part in content):
            content.insert(stored, dict(CACHE_POINT))


def split_tool_results(rendered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool results alone in their turn, a fixed assistant turn between them and what follows. Idempotent.

    Bedrock joins adjacent user messages again, so that splitting alone would not do.
    """
    split: list[dict[str, Any]] = []
    for message in rendered:
        for half in _halves(message):
            if split and split[-1]["role"] == half["role"] == "user":
                split.append({"role": "assistant", "content": [{"text": TOOL_RESULTS_SEEN}]})
            split.append(half)
    return split


def _halves(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    if message["role"] == "system":
        return [message]
    results = [part for part in content if "toolResult" in part]
    rest = [part for part in content if "toolResult" not in part]
    if not results or all("cachePoint" in part for part in rest):
        return [message]
    return [{**message, "content": results}, {**message, "content": rest}]
