"""Turns a stored history into the turns of a request: tool messages joined, operator text set apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from pi_rank.injection.dialects import Dialect
from pi_rank.injection.messages import Block, Message


class Turn(msgspec.Struct):
    """A message to be: its blocks, and the operator's blocks that go into a message of their own after it."""

    role: Literal["user", "assistant"]
    dialect: Dialect
    blocks: list[Block]
    operator: list[Block]
    joins: bool


def turns(messages: Sequence[Message], operator: Literal["system", "developer"] | None) -> Iterator[Turn]:
    """The turns of a history for providers whose messages hold tool calls and results as blocks.

    OpenAI's tool messages and items become blocks: outputs that follow each other make one user turn, calls
    join the assistant's text before them. `operator` names the rendering that is set apart, None for no
    such model. System messages of the history are left out: they belong in the request's own field.
    """
    open_turn: Turn | None = None
    for message in messages:
        turn = _turn(message, operator)
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


def _turn(message: Message, operator: Literal["system", "developer"] | None) -> Turn | None:
    role = message.role
    if role not in ("user", "assistant", "tool"):
        return None
    blocks, apart = split_operator(message, operator)
    openai = message.dialect in ("openai_chat", "openai_responses")
    joins = role == "tool" or (role == "assistant" and openai)
    return Turn("assistant" if role == "assistant" else "user", message.dialect, blocks, apart, joins)


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
