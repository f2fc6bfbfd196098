"""Adds a block to a conversation: once, at the end of the user's turn, marked, and left there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from typing import Literal
from uuid import uuid4

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.growing import line_digest
from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.live import lines_of, live_records
from pi_rank.injection.history.marks import (
    RENDERINGS,
    Mark,
    Rendering,
    as_written,
    mark_to_dict,
    new_mark,
    with_message_mark,
)
from pi_rank.injection.history.messages import Message, RawMessage
from pi_rank.injection.novelty import Novelty, StatusLookup, novel_part, novel_text
from pi_rank.injection.per_call import with_text_for_one_call
from pi_rank.injection.result import InjectionResult, Outcome
from pi_rank.injection.secrets import find_secrets, mask_secrets
from pi_rank.injection.target import Target, Trigger, find_target
from pi_rank.injection.tokens import estimate_tokens, tokens_from_end
from pi_rank.results import RetrievalContext

logger = logging.getLogger("pi_rank.injection")

Content = str | RetrievalContext | None
Mode = Literal["persist", "per_call"]
MAX_BYTES = 65_536
EMPTY = RetrievalContext(markdown="")
# Looking and appending are one step. Nothing is asked of a memory under it, so one lock serves all
# conversations.
_WRITING = threading.Lock()


def inject(
    messages: list[RawMessage],
    content: Content | Callable[[], Content],
    *,
    source: str,
    mode: Mode = "persist",
    trigger: Trigger = "user_turn",
    rendering: Rendering = "text",
    operator_text: bool = False,
    dialect: Dialect | None = None,
    status_of: StatusLookup | None = None,
    secrets: Literal["mask", "refuse"] = "mask",
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
    """
    _check(source, mode, trigger, rendering, secrets)
    ask = _Ask(messages, source, dialect or dialects.detect(messages), mode, trigger)
    refusal = _policy_refusal(content, mode, rendering, operator_text, server_state)
    if refusal:
        return ask.outcome("refused", refusal)
    target = ask.target()
    if target.outcome is not None:
        return ask.outcome(target.outcome, target.reason, target.index)
    if callable(content):
        try:
            content = content()
        except Exception as error:
            logger.warning("injection of %s skipped: its content raised", source, exc_info=True)
            return ask.outcome("refused", f"the content raised {type(error).__name__}: {error}")
        refusal = _policy_refusal(content, mode, rendering, operator_text, server_state)
        if refusal:
            return ask.outcome("refused", refusal)
    statuses = _known_statuses(ask, content, status_of)
    options = _Options(rendering, statuses, secrets, max_bytes, repeat_rules_after)
    with _WRITING:
        return _write(ask, content, options)


class _Ask(msgspec.Struct, frozen=True):
    """One call's fixed part: the conversation, who asks, and how."""

    messages: list[RawMessage]
    source: str
    dialect: Dialect
    mode: Mode
    trigger: Trigger

    def target(self) -> Target:
        stored = self.mode == "persist"
        return find_target(self.messages, self.source, self.dialect, trigger=self.trigger, stored=stored)

    def outcome(self, outcome: Outcome, reason: str, index: int = -1) -> InjectionResult:
        return InjectionResult(
            outcome=outcome, reason=reason, source=self.source, message_index=index, outgoing=self.messages
        )


class _Options(msgspec.Struct, frozen=True):
    """What one call asks for beside the conversation."""

    rendering: Rendering
    status_of: StatusLookup | None
    secrets: str
    max_bytes: int
    repeat_rules_after: int


def _known_statuses(ask: _Ask, content: Content, status_of: StatusLookup | None) -> StatusLookup | None:
    """Statuses of all that is live, looked up once and outside the lock; None where they are not known."""
    if status_of is None or isinstance(content, str):
        return None
    ids = list(live_records(ask.messages, ask.source, ask.dialect).records)
    if not ids:
        return None
    try:
        found = dict(status_of(ids))
    except Exception:
        logger.warning(
            "%s withdraws no record this turn: their status is not known", ask.source, exc_info=True
        )
        return None
    asked = frozenset(ids)
    return lambda wanted: {
        key: found.get(key, "active") for key in wanted if key in found or key not in asked
    }


def _write(ask: _Ask, content: Content, options: _Options) -> InjectionResult:
    target = ask.target()  # under the lock: another thread may have written meanwhile
    if target.outcome is not None:
        return ask.outcome(target.outcome, target.reason, target.index)
    full, part = _novel(ask, content, options)
    if not part.text.strip():
        return ask.outcome("nothing_new", "the conversation already holds all of it", target.index)
    if options.secrets == "refuse" and (found := find_secrets(part.text)):
        return ask.outcome("refused", f"the text holds what looks like: {', '.join(found)}", target.index)
    raw = {"role": "user", "content": []} if target.append else ask.messages[target.index]
    text = with_separator(as_written(mask_secrets(part.text)), Message(raw, ask.dialect))
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > options.max_bytes:
        return ask.outcome(
            "refused", f"the text has {size:,} bytes, more than max_bytes={options.max_bytes:,}", target.index
        )
    mark = _mark(ask, text, part, options.rendering, raw)
    outgoing = _add(ask, target, raw, text, mark)
    logger.info("injected %s of %s: %d bytes, records %s", mark.id, ask.source, size, list(mark.record_ids))
    return InjectionResult(
        outcome="written",
        source=ask.source,
        block_id=mark.id,
        text=text,
        record_ids=part.record_ids,
        withdrawn=part.withdrawn,
        bytes=size,
        bytes_saved=max(0, len(full.encode("utf-8", "surrogatepass")) - size),
        tokens=estimate_tokens(text),
        tokens_saved=max(0, estimate_tokens(full) - estimate_tokens(text)),
        message_index=target.index,
        tracking_id=str(outgoing[target.index].get("tracking_id", "")),
        prefix_breaking=ask.mode == "per_call",
        outgoing=outgoing,
    )


def _novel(ask: _Ask, content: Content, options: _Options) -> tuple[str, Novelty]:
    """The full text, and the part of it that is new to the conversation."""
    live = live_records(ask.messages, ask.source, ask.dialect)
    if isinstance(content, str):
        text = as_written(content)
        return content, novel_text(text, mask_secrets(text), live, ask.source)
    context = content or EMPTY
    near = None
    if options.repeat_rules_after and context.hard_rules:
        start = tokens_from_end(ask.messages, options.repeat_rules_after, ask.dialect)
        near = live_records(ask.messages[start:], ask.source, ask.dialect) if start else None

    def line_texts(name: str, wanted: Collection[str]) -> list[str]:
        found: dict[str, str] = {}
        for line in lines_of(ask.messages, ask.source, ask.dialect):
            found.setdefault(line_digest(line), line)
            if len(found.keys() & set(wanted)) == len(wanted):
                break
        return [found[digest] for digest in wanted if digest in found]

    return context.markdown, novel_part(context, live, options.status_of, near=near, line_texts=line_texts)


def with_separator(text: str, message: Message) -> str:
    """The text as it is stored: with a blank line in front where it follows other text, and only there.

    A message of tool results must not have a turn that begins with a blank line: Claude on Bedrock reads it
    as empty.
    """
    blocks = message.blocks
    if any(block.kind == "text" and block.text.strip() for block in blocks):
        return text if text.startswith("\n") else "\n\n" + text
    return text.lstrip("\n") if any(block.kind == "tool_result" for block in blocks) else text


def _mark(ask: _Ask, text: str, part: Novelty, rendering: Rendering, raw: RawMessage) -> Mark:
    content = raw["content"]
    return new_mark(
        ask.source,
        text,
        record_ids=part.record_ids,
        versions=part.versions,
        withdrawn=part.withdrawn,
        sections=part.sections,
        lines=part.lines,
        gone=part.gone,
        continued=part.continued,
        content=part.content,
        rendering=rendering,
        per_call=ask.mode == "per_call",
        start=len(content) if isinstance(content, str) else 0,
        tracked=not raw.get("tracking_id"),
    )


def _add(ask: _Ask, target: Target, raw: RawMessage, text: str, mark: Mark) -> list[RawMessage]:
    if ask.mode == "per_call":
        added = with_text_for_one_call(raw, text, mark, ask.dialect)
        return [*ask.messages[: target.index], added, *ask.messages[target.index + 1 :]]
    append_marked(raw, text, mark, ask.dialect)
    if target.append:
        ask.messages.append(raw)
    return ask.messages


def append_marked(raw: RawMessage, text: str, mark: Mark, dialect: Dialect) -> None:
    """Append a marked text to a message dict, in place; its content list is replaced, never changed.

    A shallow copy of the message that somebody took earlier, a request in flight, keeps what it had.
    """
    raw["metadata"] = with_message_mark(raw, mark)
    if not raw.get("tracking_id"):
        raw["tracking_id"] = str(uuid4())
    if isinstance(raw["content"], str):
        raw["content"] += text
        return
    part = {**dialects.text_part(text, dialect), "metadata": {"injected": mark_to_dict(mark)}}
    raw["content"] = [*raw["content"], part]


def _check(source: str, mode: str, trigger: str, rendering: str, secrets: str) -> None:
    if not isinstance(source, str) or not source:
        raise ContextError("source must be a name: it tells one injector's blocks from another's")
    for name, value, known in (
        ("mode", mode, ("persist", "per_call")),
        ("trigger", trigger, ("user_turn", "every_turn")),
        ("rendering", rendering, RENDERINGS),
        ("secrets", secrets, ("mask", "refuse")),
    ):
        if value not in known:
            raise ContextError(f"{name}={value!r} is unknown: use one of {', '.join(known)}")


def _policy_refusal(
    content: object, mode: Mode, rendering: Rendering, operator_text: bool, server_state: bool
) -> str:
    if mode == "per_call" and server_state:
        return "the server keeps this conversation, and with it every text sent; use mode='persist'"
    if rendering == "text":
        return ""
    if isinstance(content, RetrievalContext):
        return f"recalled memory is untrusted and stays user text, not {rendering}"
    if not operator_text:
        return f"rendering={rendering!r} is for text the operator wrote; pass operator_text=True if so"
    return ""
