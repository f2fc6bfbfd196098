"""OpenAI Chat Completions, and the servers that speak it: https://platform.openai.com/docs/api-reference/chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pi_rank.injection.history.messages import Block, Message
from pi_rank.injection.render.openai_messages import own_user_message, split_foreign
from pi_rank.injection.render.portable import (
    ToolUse,
    image,
    newer_block,
    skip,
    tool_result,
    tool_use,
    without_own_keys,
)
from pi_rank.injection.render.rules import RenderRules


def render(messages: Sequence[Message], rules: RenderRules) -> list[dict[str, Any]]:
    """The `messages` of a request: tool messages directly after their calls, then the user's text."""
    rendered: list[dict[str, Any]] = []
    joins = False  # whether the assistant's items before this one, of Responses, are of the same turn
    for message in messages:
        made = _own(message, rules) if message.dialect == "openai_chat" else _foreign(message, rules)
        for item in made:
            if joins and item["role"] == "assistant" and rendered[-1]["role"] == "assistant":
                item = _joined(rendered.pop(), item)
            rendered.append(item)
        joins = message.dialect == "openai_responses" and message.role == "assistant" and bool(rendered)
    return rendered


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """One assistant message of two: text and calls, which are items in Responses, stand together here."""
    content = [*(first["content"] or []), *(second["content"] or [])] or None
    calls = [*first.get("tool_calls", []), *second.get("tool_calls", [])]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _own(message: Message, rules: RenderRules) -> Iterator[dict[str, Any]]:
    if not isinstance(message.raw, dict) or message.raw.get("role") is None:
        return
    if message.role == "user":
        yield from own_user_message(message, rules, _part, _developer)
        return
    raw = without_own_keys(message.raw)
    yield {**raw, "content": _cleaned(raw["content"])} if isinstance(raw.get("content"), list) else raw


def _foreign(message: Message, rules: RenderRules) -> Iterator[dict[str, Any]]:
    blocks, operator = split_foreign(message, rules)
    for block in blocks:
        if block.kind == "tool_result" and (result := tool_result(block.raw)):
            yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
    if message.role in ("user", "assistant"):
        uses = [tool_use(block.raw) for block in blocks if block.kind == "tool_use"]
        calls = [_call(call) for call in uses if call is not None]
        rest = [block for block in blocks if block.kind not in ("tool_result", "tool_use")]
        parts = [part for block in rest if (part := _part(block, message)) is not None]
        if parts or calls:
            yield {"role": message.role, "content": parts or None, **({"tool_calls": calls} if calls else {})}
    for block in operator:
        yield from _developer(block)


def _call(call: ToolUse) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _part(block: Block, message: Message) -> dict[str, Any] | None:
    own = message.dialect == "openai_chat"
    if block.kind == "text":
        kept = own and isinstance(block.raw, dict)
        return without_own_keys(block.raw) if kept else {"type": "text", "text": block.text}
    if own:
        return newer_block(block, "openai_chat") if block.kind == "unknown" else without_own_keys(block.raw)
    picture = image(block.raw, message.dialect) if block.kind == "media" else None
    if picture is None:
        if block.kind != "cache_point":
            skip(block, "OpenAI Chat has no form for it")
        return None
    return {"type": "image_url", "image_url": {"url": picture.as_url}}


def _developer(block: Block) -> Iterator[dict[str, Any]]:
    yield {"role": "developer", "content": block.text.lstrip("\n")}


def _cleaned(content: list[Any]) -> list[Any]:
    return [without_own_keys(part) if isinstance(part, dict) else part for part in content]
