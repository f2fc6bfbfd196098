"""Turns a stored history into the turns of a request: tool messages joined, operator text set apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Block, blocks_of, role_of
from pi_rank.injection.render.plain import plain_messages

Operator = Literal["system", "developer"] | None


class Turn(msgspec.Struct):
    """A message to be: its blocks, and the operator's blocks that go into a message of their own after it."""

    role: Literal["user", "assistant"]
    dialect: Dialect
    blocks: list[Block]
    operator: list[Block]
    joins: bool


def turns(
    messages: Sequence[Any], dialect: Dialect, own: Dialect, operator: Operator
) -> Iterator[Turn | dict[str, Any]]:
    """The turns of a history for providers whose messages hold tool calls and results as blocks.

    A message of the provider's own dialect that needs no work comes ready to be sent. OpenAI's tool messages
    and items become blocks: outputs that follow each other make one user turn, calls join the assistant's
    text before them. System messages of the history are left out: they belong in the request's own field.

    :param own: the provider's dialect.
    :param operator: the rendering that is set apart, None for no such model.
    """
    open_turn: Turn | None = None
    made = plain_messages(messages, own) if dialect == own else [None] * len(messages)
    for raw, ready in zip(messages, made, strict=True):
        if ready is not None:
            if open_turn is not None:
                yield open_turn
                open_turn = None
            yield ready
            continue
        turn = _turn(raw, dialect, operator)
        if turn is None:
            continue
        if open_turn is not None:
            if open_turn.role == turn.role and open_turn.joins and turn.joins:
                open_turn.blocks += turn.blocks
                continue
            yield open_turn
        open_turn = turn
    if open_turn is not None:
        yield open_turn


def _turn(raw: Any, dialect: Dialect, operator: Operator) -> Turn | None:  # noqa: ANN401
    role = role_of(raw)
    if role not in ("user", "assistant", "tool"):
        return None
    blocks, apart = split_operator(blocks_of(raw, dialect), operator)
    openai = dialect in ("openai_chat", "openai_responses")
    joins = role == "tool" or (role == "assistant" and openai)
    return Turn("assistant" if role == "assistant" else "user", dialect, blocks, apart, joins)


def split_operator(blocks: list[Block], operator: Operator) -> tuple[list[Block], list[Block]]:
    """A message's blocks without the operator's text at its end, and that text.

    Only a trailing run is set apart, and only when something is left: the provider wants a user message
    before it. Elsewhere, after a merge of messages, it stays text. The two operator renderings serve for
    each other.
    """
    if operator is None or not blocks or blocks[-1].mark is None:
        return blocks, []
    end = len(blocks)
    while end and (mark := blocks[end - 1].mark) and mark.rendering in ("system", "developer"):
        end -= 1
    return (blocks[:end], blocks[end:]) if end else (blocks, [])
