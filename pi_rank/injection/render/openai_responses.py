"""OpenAI Responses: https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pi_rank.injection.history.messages import Block, Message
from pi_rank.injection.render.openai_messages import own_user_message, split_foreign
from pi_rank.injection.render.portable import (
    image,
    newer_block,
    skip,
    tool_result,
    tool_use,
    without_own_keys,
)
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.tool_changes import Definition, change_of, definitions_in, responses_items

Developer = Callable[[Block], Iterator[dict[str, Any]]]


def render(messages: Sequence[Message], rules: RenderRules) -> list[dict[str, Any]]:
    """The `input` items of a request: outputs before the user's text.

    Where the server keeps the conversation (`previous_response_id`), pass only the messages that are new to
    it.
    """
    rendered: list[dict[str, Any]] = []
    developer = _developer(rules, {})
    for message in messages:
        make = _own if message.dialect == "openai_responses" else _foreign
        rendered += make(message, rules, developer)
    return rendered


def _own(message: Message, rules: RenderRules, developer: Developer) -> Iterator[dict[str, Any]]:
    if not isinstance(message.raw, dict):
        return
    if "role" in message.raw and message.role == "user":
        yield from own_user_message(message, rules, _part, developer)
        return
    raw = without_own_keys(message.raw)
    if "role" in raw or isinstance(raw.get("type"), str):  # an item of a type that is not known goes back too
        yield raw
    else:
        skip(Block("unknown", raw), "it is no item")


def _foreign(message: Message, rules: RenderRules, developer: Developer) -> Iterator[dict[str, Any]]:
    blocks, operator = split_foreign(message, rules)
    for block in blocks:
        if block.kind == "tool_result" and (result := tool_result(block.raw)):
            yield {"type": "function_call_output", "call_id": result.id, "output": result.text}
    rest = [block for block in blocks if block.kind not in ("tool_result", "tool_use")]
    parts = [part for block in rest if (part := _part(block, message)) is not None]
    if parts and message.role in ("user", "assistant"):
        yield {"role": message.role, "content": parts}
    for block in blocks:
        if block.kind == "tool_use" and (call := tool_use(block.raw)):
            yield {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
    for block in operator:
        yield from developer(block)


def _part(block: Block, message: Message) -> dict[str, Any] | None:
    own = message.dialect == "openai_responses"
    if own and block.kind == "unknown":
        return newer_block(block, "openai_responses")
    if own and isinstance(block.raw, dict) and block.raw.get("type") is not None:
        return without_own_keys(block.raw)
    if block.kind == "text":
        return {"type": "output_text" if message.role == "assistant" else "input_text", "text": block.text}
    picture = image(block.raw, message.dialect) if block.kind == "media" else None
    if picture is None:
        if block.kind != "cache_point":
            skip(block, "OpenAI Responses has no form for it")
        return None
    return {"type": "input_image", "image_url": picture.as_url}


def _developer(rules: RenderRules, known: dict[str, Definition]) -> Developer:
    """How an operator's block becomes items; `known` gathers the tools that were defined so far."""

    def items(block: Block) -> Iterator[dict[str, Any]]:
        change = change_of(block.mark)
        if change is None or rules.tool_changes != "additional_tools":
            yield {"role": "developer", "content": [{"type": "input_text", "text": block.text.lstrip("\n")}]}
            return
        known.update(definitions_in([block]))
        yield from responses_items(change, known)

    return items
