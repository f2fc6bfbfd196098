"""Adds a block to a conversation: once, at the end of the user's turn, marked, and left there."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from pi_rank.errors import ContextError
from pi_rank.injection.append import Seen, write
from pi_rank.injection.call import MAX_BYTES, Call, Content, Mode, Secrets
from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.marks import Rendering
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.history.objects import refuse_objects
from pi_rank.injection.novelty import StatusLookup
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.target import Trigger

logger = logging.getLogger("pi_rank.injection")
Source = Content | Callable[[], Content]
AsyncSource = Content | Callable[[], Content | Awaitable[Content]]


def inject(
    messages: list[RawMessage],
    content: Source,
    *,
    source: str,
    mode: Mode = "persist",
    trigger: Trigger = "user_turn",
    rendering: Rendering = "text",
    operator_text: bool = False,
    dialect: Dialect | None = None,
    status_of: StatusLookup | None = None,
    secrets: Secrets = "mask",
    server_state: bool = False,
    max_bytes: int = MAX_BYTES,
    repeat_rules_after: int = 0,
) -> InjectionResult:
    """Append memory to the latest user message of a conversation, in place, unless it is there already.

    What is written is stored with the conversation and sent with every later request; a memory that is
    deleted later stays where it was recalled, and the next block says that it no longer holds.

    :param messages: message dicts of Strands/Bedrock, Anthropic, OpenAI Chat or OpenAI Responses shape.
    :param content: a turn's RetrievalContext, of which only what the conversation lacks is written; or a
        text; or a function that returns either, called only when something may be written. If it raises, the
        turn goes on.
    :param source: the injector's name. One block per source and message.
    :param mode: `per_call` leaves the conversation alone and returns a copy with the text as `outgoing`. It
        breaks the provider's prefix on every turn, and is refused where the server keeps the conversation.
    :param trigger: `every_turn` also adds to messages that carry tool results.
    :param rendering: how the block is sent; `system` and `developer` are for an operator's own text only.
    :param status_of: record ids → present statuses, for records to withdraw (see `novelty.novel_part`).
    :param repeat_rules_after: a hard rule whose last text lies this many tokens back (an estimate) is written
        again; 0 for never.
    :param server_state: the provider keeps the conversation (`previous_response_id`, a conversation id).
    :raises ContextError: an argument has a value that is not known.
    :raises TypeError: the messages are a framework's objects; its adapter writes to these.
    """
    call = Call(
        messages=refuse_objects(messages),
        source=source,
        dialect=dialect or dialects.detect(messages),
        mode=mode,
        trigger=trigger,
        rendering=rendering,
        operator_text=operator_text,
        secrets=secrets,
        server_state=server_state,
        max_bytes=max_bytes,
        repeat_rules_after=repeat_rules_after,
    )
    return inject_call(call, content, status_of)


def inject_call(call: Call, content: Source, status_of: StatusLookup | None = None) -> InjectionResult:
    """`inject`, for a call that is made already."""
    if (closed := call.closed(content)) is not None:
        return closed
    if callable(content):
        try:
            content = content()
        except Exception as error:
            return _failed(call, error)
        if inspect.isawaitable(content):
            if inspect.iscoroutine(content):
                content.close()
            raise ContextError("this memory is asynchronous: await `ainject`")
        if (closed := call.closed(content)) is not None:
            return closed
    if status_of is None or isinstance(content, str):
        return write(call, content)
    seen = Seen.of(call)
    return write(call, content, _statuses(call, seen, status_of), seen)


async def ainject_call(
    call: Call, content: AsyncSource, status_of: Callable[[Collection[str]], Any] | None = None
) -> InjectionResult:
    """As `inject_call`, without stopping the event loop: what is not awaitable is asked in a thread."""
    if (closed := call.closed(content)) is not None:
        return closed
    found: Content
    if callable(content):
        try:
            asked = await asyncio.to_thread(content)
            found = await asked if inspect.isawaitable(asked) else asked
        except Exception as error:
            return _failed(call, error)
        if (closed := call.closed(found)) is not None:
            return closed
    else:
        found = content
    if status_of is None or isinstance(found, str):
        return write(call, found)
    seen = Seen.of(call)
    ids = list(seen.live.records)
    try:
        looked = await asyncio.to_thread(status_of, ids) if ids else {}
        statuses = await looked if inspect.isawaitable(looked) else looked
    except Exception as error:
        _say_unknown(call, error)
        return write(call, found, None, seen)
    return write(call, found, _among(ids, statuses), seen)


def _failed(call: Call, error: Exception) -> InjectionResult:
    logger.warning("injection of %s skipped: its content raised", call.source, exc_info=error)
    return call.outcome("refused", f"the content raised {type(error).__name__}: {error}")


def _statuses(call: Call, seen: Seen, status_of: StatusLookup) -> StatusLookup | None:
    """Statuses of all that is live, looked up once and outside the lock; None where they are not known."""
    ids = list(seen.live.records)
    try:
        return _among(ids, status_of(ids)) if ids else None
    except Exception as error:
        _say_unknown(call, error)
        return None


def _among(ids: list[str], statuses: Mapping[str, str]) -> StatusLookup:
    """A lookup that knows the statuses of these ids; what was written since was not asked for, and holds."""
    asked, found = frozenset(ids), dict(statuses)
    return lambda wanted: {
        key: found.get(key, "active") for key in wanted if key in found or key not in asked
    }


def _say_unknown(call: Call, error: Exception) -> None:
    why = "their status is not known"
    logger.warning("%s withdraws no record this turn: %s", call.source, why, exc_info=error)
