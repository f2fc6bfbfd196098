"""The one operation that edits history: a block that trips a guardrail becomes a fixed placeholder.

for block_id in find_tripping(messages, guardrail_refuses):
    quarantine(messages, block_id)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.history.dialects import Dialect, detect
from pi_rank.injection.history.marks import Mark, mark_to_dict, place_of
from pi_rank.injection.history.messages import Block, Message, RawMessage, metadata_of, view
from pi_rank.injection.history.objects import kind_of

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


def quarantine(messages: list[Any], block_id: str, dialect: Dialect | None = None) -> Quarantine:
    """Replace the injected block with this id by a fixed placeholder, in place.

    The messages may be the objects of a framework whose adapter is imported; the list then holds a new
    object in
    the place of the one with the block. Store it where your framework keeps its own copy.

    :raises ContextError: no block of the conversation has this id.
    :raises TypeError: the messages are objects of a framework whose adapter is not imported.
    """
    kind = kind_of(messages)
    found = dialect or (detect(messages) if kind is None else kind.dialect)
    for index, message in enumerate(messages):
        raw = message if kind is None else kind.view(message)
        for block in Message(raw, found).blocks:
            if block.mark is not None and block.mark.id == block_id:
                _replace(raw, block, block.mark)
                if kind is not None:
                    messages[index] = kind.rebuilt(message, raw)
                return Quarantine(block_id, index, block.mark.record_ids)
    known = ", ".join(block.mark.id for block in _injected(messages, dialect) if block.mark) or "none"
    raise ContextError(f"no injected block has the id {block_id!r}; the conversation holds: {known}")


def find_tripping(
    messages: Sequence[Any], trips: Callable[[str], bool], dialect: Dialect | None = None
) -> list[str]:
    """Ids of the injected blocks whose text a guardrail refuses, the newest first.

    :param trips: asks the guardrail about one text.
    """
    blocks = list(_injected(messages, dialect))
    return [block.mark.id for block in reversed(blocks) if block.mark is not None and trips(block.text)]


def _injected(messages: Sequence[Any], dialect: Dialect | None) -> Iterator[Block]:
    for message in view(messages, dialect):
        if message.role == "user":
            yield from (block for block in message.blocks if block.mark is not None)


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
