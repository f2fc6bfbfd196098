"""The one operation that edits history: a block that trips a guardrail becomes a fixed placeholder."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.history.marks import Mark, mark_to_dict, place_of
from pi_rank.injection.history.messages import Block, Message, RawMessage, metadata_of

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
                _replace(raw, block, block.mark)
                return Quarantine(block_id, index, block.mark.record_ids)
    known = ", ".join(mark.id for mark in marks_in(messages, found)) or "none"
    raise ContextError(f"no injected block has the id {block_id!r}; the conversation holds: {known}")


def _replace(raw: RawMessage, block: Block, mark: Mark) -> None:
    lead = block.text[: len(block.text) - len(block.text.lstrip("\n"))]  # the separator is part of the text
    text = lead + PLACEHOLDER
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    changed = msgspec.structs.replace(
        mark,
        quarantined=now,
        quarantined_digest=mark.quarantined_digest or mark.digest,
        **place_of(text),
    )
    content, end = raw["content"], block.start + len(block.text)
    if isinstance(content, str):
        raw["content"] = content[: block.start] + text + content[end:]
    else:
        raw["content"] = [
            _replaced(part, block, text, changed) if part is block.raw else part for part in content
        ]
    _replace_message_mark(raw, changed, moved=len(text) - len(block.text), after=block.start)


def _replaced(part: Any, block: Block, text: str, mark: Mark) -> Any:  # noqa: ANN401 - a part, or a bare string
    old = part if isinstance(part, str) else part["text"]
    new = old[: block.start] + text + old[block.start + len(block.text) :]
    if isinstance(part, str):
        return new
    metadata = metadata_of(part)
    if "injected" in metadata or block.whole:
        metadata = {**metadata, "injected": mark_to_dict(mark)}
    return {**part, "text": new, **({"metadata": metadata} if metadata else {})}


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
