"""Turns a stored history into the turns of a request: tool messages joined, operator text set apart."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Block, blocks_of, role_of
from pi_rank.injection.render.plain import plain_messages
from pi_rank.injection.render.portable import without_own_keys
from pi_rank.injection.render.tool_changes import change_of

logger = logging.getLogger("pi_rank.injection")

OPERATOR = ("system", "developer", "turn")


class Turn(msgspec.Struct):
    """A message to be: its blocks, and the operator's blocks that go into a message of their own after it.

    A system message of the history is a turn of nothing but operator's blocks.
    """

    role: Literal["user", "assistant", "system"]
    dialect: Dialect
    blocks: list[Block]
    operator: list[Block]
    joins: bool


def turns(
    messages: Sequence[Any], dialect: Dialect, own: Dialect, operator: Apart
) -> Iterator[Turn | dict[str, Any]]:
    """The turns of a history for providers whose messages hold tool calls and results as blocks.

    A message of the provider's own dialect that needs no work comes ready to be sent, system messages among
    them. OpenAI's tool messages and items become blocks: outputs that follow each other make one user turn,
    calls join the assistant's text before them.

    :param own: the provider's dialect.
    :param operator: what is set apart.
    """
    open_turn: Turn | None = None
    made = plain_messages(messages, own) if dialect == own else [None] * len(messages)
    started = False
    for raw, ready in zip(messages, made, strict=True):
        turn = ready if ready is not None else _turn(raw, dialect, own, operator, started=started)
        if turn is None:
            continue
        started = True
        if isinstance(turn, Turn) and open_turn is not None and _joins(open_turn, turn):
            open_turn.blocks += turn.blocks
            continue
        if open_turn is not None:
            yield open_turn
            open_turn = None
        if isinstance(turn, Turn):
            open_turn = turn
        else:
            yield turn
    if open_turn is not None:
        yield open_turn


def _joins(first: Turn, second: Turn) -> bool:
    return first.role == second.role and first.joins and second.joins


def _turn(
    raw: Any,  # noqa: ANN401
    dialect: Dialect,
    own: Dialect,
    operator: Apart,
    *,
    started: bool,
) -> Turn | dict[str, Any] | None:
    role = role_of(raw)
    if role == "system":
        return _system_turn(raw, dialect, own, operator, started=started)
    if role not in ("user", "assistant", "tool"):
        return None
    blocks, apart = split_operator(blocks_of(raw, dialect), operator, alone=started)
    openai = dialect in ("openai_chat", "openai_responses")
    joins = role == "tool" or (role == "assistant" and openai)
    return Turn("assistant" if role == "assistant" else "user", dialect, blocks, apart, joins)


def _system_turn(
    raw: dict[str, Any], dialect: Dialect, own: Dialect, operator: Apart, *, started: bool
) -> Turn | dict[str, Any] | None:
    """A system message of the history: as it is for its own provider; for another, where its model takes one
    in mid-conversation. One at the start belongs in the request's own field for it."""
    content = raw.get("content")
    if dialect == own and isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return {**without_own_keys(raw), "content": [without_own_keys(part) for part in content]}
    if dialect == own and isinstance(content, str):
        return without_own_keys(raw)
    texts = [block for block in blocks_of(raw, dialect) if block.kind == "text" and block.text]
    if started and operator.text and texts:
        return Turn("system", dialect, [], texts, joins=False)
    logger.info("a %s message of the history is not sent: it belongs in the request's own field", raw["role"])
    return None


class Apart(msgspec.Struct, frozen=True):
    """What goes into messages of the operator's: his text, what he changed about tools, or neither."""

    text: bool
    tools: bool = False

    def takes(self, block: Block) -> bool:
        """Whether the block is set apart."""
        if block.mark is None or block.mark.rendering not in OPERATOR:
            return False
        return self.tools if change_of(block.mark) is not None else self.text


def split_operator(
    blocks: list[Block], operator: Apart, *, alone: bool = False
) -> tuple[list[Block], list[Block]]:
    """A message's blocks without the operator's text, and that text.

    It is set apart wherever it stands, so that what is written after it changes nothing. The operator
    renderings serve for each other. A text that is partly injected stays one part, unless the operator's is
    in it.

    :param alone: whether nothing need be left: Anthropic wants a user message before a `system` one.
    """
    apart = [block for block in blocks if operator.takes(block)]
    if not apart or (len(apart) == len(blocks) and not alone):
        return _joined(blocks), []
    loose = {id(block.raw) for block in apart if not block.whole}
    kept = [block for block in blocks if not operator.takes(block)]
    free = [msgspec.structs.replace(block, raw=None) if id(block.raw) in loose else block for block in kept]
    return _joined(free), apart


def _joined(blocks: list[Block]) -> list[Block]:
    """The blocks, the pieces of one part of a content made whole again. A string content stays cut."""
    if all(block.start == 0 or block.raw is None for block in blocks):
        return blocks
    whole: list[Block] = []
    for block in blocks:
        if block.start and block.raw is not None:
            whole[-1] = Block("text", block.raw, whole[-1].text + block.text)
        else:
            whole.append(block)
    return whole
