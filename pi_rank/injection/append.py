"""What is new of a turn's content, put at the end of its message with its mark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from uuid import uuid4

import msgspec

from pi_rank.injection.call import Call, Content
from pi_rank.injection.growing import line_digest
from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.live import Live, lines_of, live_records
from pi_rank.injection.history.marks import Mark, as_written, mark_to_dict, new_mark, with_message_mark
from pi_rank.injection.history.messages import Message, RawMessage
from pi_rank.injection.novelty import Novelty, StatusLookup, novel_part, novel_text
from pi_rank.injection.per_call import with_text_for_one_call
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.secrets import find_secrets, mask_secrets
from pi_rank.injection.target import Target
from pi_rank.injection.tokens import estimate_tokens, tokens_from_end
from pi_rank.results import RetrievalContext

logger = logging.getLogger("pi_rank.injection")

EMPTY = RetrievalContext(markdown="")
# Looking and appending are one step. Nothing is asked of a memory meanwhile, so one lock serves them all.
_WRITING = threading.Lock()


class Seen(msgspec.Struct, frozen=True):
    """What was live before the memory was asked, and by what the conversation is known to be as it was."""

    live: Live
    messages: int
    last: int

    @classmethod
    def of(cls, call: Call) -> Seen:
        """The conversation of a call as it is now."""
        live = live_records(call.messages, call.source, call.dialect)
        return cls(live, len(call.messages), _last(call))

    def holds(self, call: Call) -> bool:
        """Whether nobody has added to the conversation since, or taken from it."""
        return self.messages == len(call.messages) and self.last == _last(call)


def _last(call: Call) -> int:
    return (
        id(call.messages[-1].get("content")) if call.messages and isinstance(call.messages[-1], dict) else 0
    )


def write(
    call: Call, content: Content, statuses: StatusLookup | None = None, seen: Seen | None = None
) -> InjectionResult:
    """Add what is new to the conversation, or say why not.

    :param statuses: looked up before: nothing is asked of a memory while others wait.
    :param seen: what was live when they were looked up, to be used again where it still is.
    """
    with _WRITING:
        return _write(call, content, statuses, seen)


def _write(call: Call, content: Content, statuses: StatusLookup | None, seen: Seen | None) -> InjectionResult:
    target = call.target()  # under the lock: another thread may have written meanwhile
    if target.outcome is not None:
        return call.outcome(target.outcome, target.reason, target.index)
    live = seen.live if seen is not None and seen.holds(call) else Seen.of(call).live
    full, part = _novel(call, content, statuses, live)
    if not part.text.strip():
        return call.outcome("nothing_new", "the conversation already holds all of it", target.index)
    if call.secrets == "refuse" and (found := find_secrets(part.text)):
        return call.outcome("refused", f"the text holds what looks like: {', '.join(found)}", target.index)
    raw = {"role": "user", "content": []} if target.append else call.messages[target.index]
    text = with_separator(as_written(mask_secrets(part.text)), Message(raw, call.dialect))
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > call.max_bytes:
        return call.outcome(
            "refused", f"the text has {size:,} bytes, more than max_bytes={call.max_bytes:,}", target.index
        )
    mark = _mark(call, text, part, raw)
    outgoing = _add(call, target, raw, text, mark)
    logger.info("injected %s of %s: %d bytes, records %s", mark.id, call.source, size, list(mark.record_ids))
    return InjectionResult(
        outcome="written",
        source=call.source,
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
        prefix_breaking=call.mode == "per_call",
        outgoing=outgoing,
    )


def _novel(call: Call, content: Content, status_of: StatusLookup | None, live: Live) -> tuple[str, Novelty]:
    """The full text, and the part of it that is new to the conversation."""
    if isinstance(content, str):
        text = as_written(content)
        return content, novel_text(text, mask_secrets(text), live, call.source)
    context = content or EMPTY
    near = None
    if call.repeat_rules_after and context.hard_rules:
        start = tokens_from_end(call.messages, call.repeat_rules_after, call.dialect)
        near = live_records(call.messages[start:], call.source, call.dialect) if start else None

    def line_texts(name: str, wanted: Collection[str]) -> list[str]:
        found: dict[str, str] = {}
        for line in lines_of(call.messages, call.source, call.dialect):
            found.setdefault(line_digest(line), line)
            if len(found.keys() & set(wanted)) == len(wanted):
                break
        return [found[digest] for digest in wanted if digest in found]

    return context.markdown, novel_part(context, live, status_of, near=near, line_texts=line_texts)


def with_separator(text: str, message: Message) -> str:
    """The text as it is stored: with a blank line in front where it follows other text, and only there.

    A message of tool results must not have a turn that begins with a blank line: Claude on Bedrock reads it
    as empty.
    """
    blocks = message.blocks
    if any(block.kind == "text" and block.text.strip() for block in blocks):
        return text if text.startswith("\n") else "\n\n" + text
    return text.lstrip("\n") if any(block.kind == "tool_result" for block in blocks) else text


def _mark(call: Call, text: str, part: Novelty, raw: RawMessage) -> Mark:
    content = raw["content"]
    return new_mark(
        call.source,
        text,
        record_ids=part.record_ids,
        versions=part.versions,
        withdrawn=part.withdrawn,
        sections=part.sections,
        lines=part.lines,
        gone=part.gone,
        continued=part.continued,
        content=part.content,
        rendering=call.rendering,
        tools=call.tools or {},
        per_call=call.mode == "per_call",
        start=len(content) if isinstance(content, str) else 0,
        tracked=not raw.get("tracking_id"),
    )


def _add(call: Call, target: Target, raw: RawMessage, text: str, mark: Mark) -> list[RawMessage]:
    if call.mode == "per_call":
        added = with_text_for_one_call(raw, text, mark, call.dialect)
        return [*call.messages[: target.index], added, *call.messages[target.index + 1 :]]
    append_marked(raw, text, mark, call.dialect)
    if target.append:
        call.messages.append(raw)
    return call.messages


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
