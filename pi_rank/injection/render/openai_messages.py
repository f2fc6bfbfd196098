"""What OpenAI's two interfaces share: a user message of their own dialect, and developer text after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pi_rank.injection.history.messages import Block, Message
from pi_rank.injection.render.plain import plain_parts
from pi_rank.injection.render.portable import logger, without_own_keys
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.turns import Apart, split_operator


def split_developer(message: Message, rules: RenderRules) -> tuple[list[Block], list[Block]]:
    """A message's blocks, and those that go into developer messages after it, if the model takes such."""
    tools = rules.provider == "openai_responses" and rules.tool_changes == "additional_tools"
    apart = Apart(rules.developer_messages, tools or rules.developer_messages)
    return split_operator(message.blocks, apart, alone=True)


def split_foreign(message: Message, rules: RenderRules) -> tuple[list[Block], list[Block]]:
    """As `split_developer`, for a message of another dialect: a system message becomes a developer's."""
    if message.role != "system":
        return split_developer(message, rules)
    texts = [block for block in message.blocks if block.kind == "text" and block.text]
    if rules.developer_messages:
        return [], texts
    logger.info("a system message of the history is not sent: the model takes none from another provider")
    return [], []


def own_user_message(
    message: Message,
    rules: RenderRules,
    part: Callable[[Block, Message], dict[str, Any] | None],
    developer: Callable[[Block], Iterable[dict[str, Any]]],
) -> Iterator[dict[str, Any]]:
    """A user message that is stored in the dialect it is sent in, then its developer messages.

    :param part: a block as a content part; None for one that is not sent.
    :param developer: a block as developer messages.
    """
    raw = without_own_keys(message.raw)
    ready = plain_parts(message.raw, message.dialect)
    if ready is not None:
        yield {**raw, "content": ready}
        return
    blocks, operator = split_developer(message, rules)
    if isinstance(raw.get("content"), str) and (blocks or not operator):
        yield {**raw, "content": "".join(block.text for block in blocks)}
    elif parts := [made for block in blocks if (made := part(block, message)) is not None]:
        yield {**raw, "content": parts}
    for block in operator:
        yield from developer(block)
