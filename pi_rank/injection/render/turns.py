"""Turns a stored history into the turns of a request: tool messages joined, operator text set apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.dialects import PART_TYPES, STRANDS_KEYS, BlockKind, Dialect
from pi_rank.injection.messages import Block, Message, metadata_of, role_of
from pi_rank.injection.render.portable import without_own_keys

_NONE: list[Block] = []  # the blocks of a turn that is ready; it joins no other, so nothing is added


class Turn(msgspec.Struct):
    """A message to be: its blocks, and the operator's blocks that go into a message of their own after it.

    `ready` holds the parts of a message of the provider's own dialect that needs no work.
    """

    role: Literal["user", "assistant"]
    dialect: Dialect
    blocks: list[Block]
    operator: list[Block]
    joins: bool
    ready: list[dict[str, Any]] | None = None


def turns(
    messages: Sequence[Message], operator: Literal["system", "developer"] | None, own: Dialect
) -> Iterator[Turn]:
    """The turns of a history for providers whose messages hold tool calls and results as blocks.

    OpenAI's tool messages and items become blocks: outputs that follow each other make one user turn, calls
    join the assistant's text before them. `operator` names the rendering that is set apart, None for no
    such model. System messages of the history are left out: they belong in the request's own field.
    """
    open_turn: Turn | None = None
    for message in messages:
        turn = _plain_turn(message) if message.dialect == own else None
        turn = turn or _turn(message, operator)
        if turn is None:
            continue
        if open_turn is not None and open_turn.role == turn.role and open_turn.joins and turn.joins:
            open_turn.blocks += turn.blocks
            continue
        if open_turn is not None:
            yield open_turn
        open_turn = turn
    if open_turn is not None:
        yield open_turn


def _plain_turn(message: Message) -> Turn | None:
    raw = message.raw
    role = raw.get("role") if isinstance(raw, dict) else None
    if role not in ("user", "assistant"):
        return None
    ready = plain_parts(raw, message.dialect)
    return None if ready is None else Turn(role, message.dialect, _NONE, _NONE, False, ready)


def _turn(message: Message, operator: Literal["system", "developer"] | None) -> Turn | None:
    role = role_of(message.raw)
    if role not in ("user", "assistant", "tool"):
        return None
    blocks, apart = split_operator(message, operator)
    openai = message.dialect in ("openai_chat", "openai_responses")
    joins = role == "tool" or (role == "assistant" and openai)
    return Turn("assistant" if role == "assistant" else "user", message.dialect, blocks, apart, joins)


def plain_parts(raw: dict[str, Any], dialect: Dialect) -> list[dict[str, Any]] | None:
    """The parts of a message as they are sent in its own dialect, where only our keys have to go.

    Most messages are like that, and this spares them the general way. None where more is to be done: an empty
    or unknown part, tool results behind something else, operator text or text for this call only.
    """
    content = raw.get("content")
    if not isinstance(content, list) or not content or ("metadata" in raw and not _sent_as_text(raw)):
        return None
    try:
        return _stripped(content, dialect)
    except (KeyError, TypeError):
        return None  # an unknown part, or none at all: the general way says which


def _stripped(content: list[Any], dialect: Dialect) -> list[dict[str, Any]] | None:
    kinds = PART_TYPES.get(dialect)
    parts: list[dict[str, Any]] = []
    last: BlockKind = "tool_result"
    for part in content:
        kind = kinds[part["type"]] if kinds is not None else STRANDS_KEYS[next(iter(part), "")]
        if kind == "text":
            if not part["text"] or not isinstance(part["text"], str):
                return None
        elif kind == "tool_result" and last != "tool_result":
            return None
        last = kind
        if "metadata" in part:
            if not _is_sent_as_text(metadata_of(part).get("injected")):
                return None
            part = without_own_keys(part)
        if kinds is None and len(part) > 1:
            part = {key: value for key, value in part.items() if key in STRANDS_KEYS}
        parts.append(part)
    return parts


def _sent_as_text(raw: dict[str, Any]) -> bool:
    listed = metadata_of(raw).get("injected")
    return not isinstance(listed, list) or all(map(_is_sent_as_text, listed))


def _is_sent_as_text(mark: Any) -> bool:  # noqa: ANN401 - whatever stands where a mark does
    if not isinstance(mark, dict):
        return mark is None
    return mark.get("rendering") == "text" and "per_call" not in mark


def split_operator(
    message: Message, operator: Literal["system", "developer"] | None
) -> tuple[list[Block], list[Block]]:
    """A message's blocks without the operator's text at its end, and that text.

    Only a trailing run is set apart, and only when something is left: the provider wants a user message
    before it. Elsewhere, after a merge of messages, it stays text. The two operator renderings serve for
    each other.
    """
    blocks = message.blocks
    if operator is None or not blocks or blocks[-1].mark is None:
        return blocks, []
    end = len(blocks)
    while end and (mark := blocks[end - 1].mark) and mark.rendering in ("system", "developer"):
        end -= 1
    return (blocks[:end], blocks[end:]) if end else (blocks, [])
