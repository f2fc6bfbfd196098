"""What is live: the records that a conversation's own marks say the model can still read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_rank.injection.marks import Mark
from pi_rank.injection.messages import block_mark, message_marks, metadata_of


class Live(msgspec.Struct, frozen=True):
    """Record id → version digest, section name → digest, and the digests of whole blocks, of one source."""

    records: dict[str, str]
    sections: dict[str, str]
    digests: frozenset[str]


def marks_in(messages: Sequence[Any]) -> Iterator[Mark]:
    """Every mark of a history, once, in the order in which the blocks were written."""
    for raw in messages:
        if not isinstance(raw, dict) or raw.get("role") != "user":
            continue
        seen: set[str] = set()
        if "metadata" in raw:
            for mark in message_marks(raw):
                seen.add(mark.id)
                yield mark
        content = raw.get("content")
        for part in content if isinstance(content, list) else ():
            own = _unseen(part, seen) if isinstance(part, dict) and "metadata" in part else None
            if own is not None:
                seen.add(own.id)
                yield own


def _unseen(part: dict[str, Any], seen: set[str]) -> Mark | None:
    """A block's own mark, unless the message has it too, which is the usual case and costs one look."""
    marked = metadata_of(part).get("injected")
    if isinstance(marked, dict) and marked.get("id") in seen:
        return None
    return block_mark(part)


def live_records(messages: Sequence[Any], source: str) -> Live:
    """What the blocks of one source still in the history hold; the latest block has the last word.

    A message that compaction dropped took its marks along, so its records are absent. Nothing but the
    conversation is asked: side state may have been restored from another moment.
    """
    records: dict[str, str] = {}
    sections: dict[str, str] = {}
    digests: set[str] = set()
    for mark in marks_in(messages):
        if mark.source != source:
            continue
        for gone in mark.withdrawn:
            records.pop(gone, None)
        records.update(mark.versions_by_id())
        sections.update(mark.sections)
        digests.add(mark.digest)
    return Live(records, sections, frozenset(digests))
