"""Which message a block goes to, and whether it may still go there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import Message, role_of
from pi_rank.injection.result import Outcome

Trigger = Literal["user_turn", "every_turn"]
_OPENAI: tuple[Dialect, ...] = ("openai_chat", "openai_responses")


class Target(msgspec.Struct, frozen=True):
    """The message to write to, or the outcome that says why there is none.

    `append` asks for a new user message at the end: OpenAI's tool outputs are messages of their own.
    """

    index: int = -1
    outcome: Outcome | None = None
    reason: str = ""
    append: bool = False


def find_target(
    messages: Sequence[Any], source: str, dialect: Dialect, *, trigger: Trigger, stored: bool
) -> Target:
    """The user message that a block of this source belongs to.

    With `user_turn` that is the latest user message without tool results, and a block is only added while
    nothing has answered it: an older message has been sent, and must keep its bytes. With `every_turn` a
    message of tool results is taken too. `stored` False (per-call mode) allows an answered message, since
    nothing is kept.
    """
    if trigger == "every_turn" and dialect in _OPENAI and messages and role_of(messages[-1]) == "tool":
        return _after_tool_outputs(messages)
    latest = _last_user(messages, dialect, len(messages))
    index = latest
    while trigger == "user_turn" and index >= 0 and _carries_results(messages[index], dialect):
        index = _last_user(messages, dialect, index)
    if index < 0 and latest >= 0:
        return Target(outcome="refused", reason=_TOOL_RESULTS)
    if index < 0:
        return Target(outcome="no_user_message", reason="there is no user message to add to")
    message = Message(messages[index], dialect)
    if any(block.mark and block.mark.source == source for block in message.trailing_injected()):
        return Target(index, "already_written", f"the user's turn already has the block of {source!r}")
    return _open_target(messages, index, latest, stored)


_TOOL_RESULTS = "the latest user message carries tool results; pass trigger='every_turn' to add to it"


def _open_target(messages: Sequence[Any], index: int, latest: int, stored: bool) -> Target:
    if stored and index != latest:
        return Target(index, "refused", _TOOL_RESULTS)
    if stored and index != len(messages) - 1:
        return Target(index, "refused", "the latest user message is answered, and must stay as it was sent")
    if not isinstance(messages[index].get("content"), (str, list)):
        return Target(index, "refused", "the latest user message has neither a string nor a list as content")
    if not isinstance(messages[index].get("metadata", {}), dict):
        return Target(
            index, "refused", "the latest user message's metadata is not an object that can hold a mark"
        )
    return Target(index)


def _last_user(messages: Sequence[Any], dialect: Dialect, before: int) -> int:
    return next((i for i in range(before - 1, -1, -1) if role_of(messages[i]) == "user"), -1)


def _carries_results(raw: dict[str, Any], dialect: Dialect) -> bool:
    return Message(raw, dialect).has("tool_result")


def _after_tool_outputs(messages: Sequence[Any]) -> Target:
    """A new user message after the tool outputs, once every call has its own: never between them."""
    waiting = _call_ids(messages, outputs=False) - _call_ids(messages, outputs=True)
    if waiting:
        return Target(outcome="refused", reason=f"{len(waiting)} tool call(s) still wait for their output")
    return Target(len(messages), append=True)


def _call_ids(messages: Sequence[Any], *, outputs: bool) -> set[str]:
    """Ids of the tool calls, or of the tool outputs, since the latest user message."""
    found: set[str] = set()
    for raw in reversed(messages):
        role = role_of(raw)
        if role == "user":
            break
        if outputs and role == "tool":
            found.add(str(raw.get("tool_call_id") or raw.get("call_id")))
        elif not outputs and role == "assistant":
            calls = raw.get("tool_calls")
            found.update(str(call.get("id")) for call in calls or () if isinstance(call, dict))
            found.update([str(raw["call_id"])] if "call_id" in raw else [])
    return found
