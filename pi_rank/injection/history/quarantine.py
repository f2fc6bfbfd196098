"""The one operation that edits history: a block that trips a guardrail becomes a fixed placeholder."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.history.marks import Mark, mark_to_dict, text_digest
from pi_rank.injection.history.messages import Message, RawMessage, metadata_of

PLACEHOLDER = "[Recalled memory was removed here by a guardrail.]"


class Quarantine(msgspec.Struct, frozen=True):
    """What was taken out: the prefix of later requests changes at this message (declare it to the prefix
    check).

    The records stay known to the conversation, so that the next turn does not write them again; one that is
    changed since is.
    """

    block_id: str
    message_index: int
    record_ids: tuple[str, ...]
    reason: str = "quarantine"


def quarantine(messages: list[RawMessage], block_id: str, dialect: Dialect | None = None) -> Quarantine:
    """Replace the injected block with this id by a fixed placeholder, in place.

    :raises ContextError: no block of the conversation has this id.
    """
    found = dialect or dialects.detect(messages)
    for index, raw in enumerate(messages):
        for block in Message(raw, found).blocks:
            if block.mark is not None and block.mark.id == block_id:
                _replace(raw, block.raw, block.start, block.mark)
                return Quarantine(block_id, index, block.mark.record_ids)
    known = ", ".join(mark.id for mark in marks_in(messages)) or "none"
    raise ContextError(f"no injected block has the id {block_id!r}; the conversation holds: {known}")


def _replace(raw: RawMessage, part: Any, start: int, mark: Mark) -> None:  # noqa: ANN401
    content = raw["content"]
    whole = isinstance(content, str)
    old = content[start : start + mark.chars] if whole else part if isinstance(part, str) else part["text"]
    text = old[: len(old) - len(old.lstrip("\n"))] + PLACEHOLDER  # the separator is part of the stored text
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    changed = msgspec.structs.replace(
        mark,
        quarantined=now,
        quarantined_digest=mark.digest,
        digest=text_digest(text),
        chars=len(text) if whole else 0,
    )
    if whole:
        raw["content"] = content[:start] + text + content[start + mark.chars :]
    else:
        raw["content"] = [_replaced(b, text, changed) if b is part else b for b in content]
    _replace_message_mark(raw, changed, moved=changed.chars - mark.chars, after=start)


def _replaced(part: Any, text: str, mark: Mark) -> Any:  # noqa: ANN401 - a block dict, or a bare string
    if isinstance(part, str):
        return text
    metadata = {**metadata_of(part), "injected": mark_to_dict(mark)}
    return {**part, "text": text, "metadata": metadata}


def _replace_message_mark(raw: RawMessage, changed: Mark, *, moved: int, after: int) -> None:
    """The message's own copy of the mark, and the places of the marks that follow it in a string content."""
    listed = metadata_of(raw).get("injected")
    if not isinstance(listed, list):
        return
    renewed = []
    for item in listed:
        if isinstance(item, dict) and item.get("id") == changed.id:
            renewed.append(mark_to_dict(changed))
        elif isinstance(item, dict) and isinstance(start := item.get("start", 0), int) and start > after:
            renewed.append({**item, "start": start + moved})
        else:
            renewed.append(item)
    raw["metadata"] = {**raw["metadata"], "injected": renewed}
