"""What is live: the records that a conversation's own marks say the model can still read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_rank.injection.marks import Mark, read_mark


class Live(msgspec.Struct, frozen=True):
    """Record id → version digest, section name → digest, and the digests of whole blocks, of one source."""

    records: dict[str, str]
    sections: dict[str, str]
    digests: frozenset[str]


def marks_in(messages: Sequence[Any]) -> Iterator[Mark]:
    """Every mark of a history, once, in the order in which the blocks were written."""
    for raw in _raw_marks(messages):
        mark = read_mark(raw)
        if mark is not None:
            yield mark


def _raw_marks(messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """What stands where marks stand, a block's own left out where the message has it too (the usual case)."""
    for message in messages:
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        ids: list[Any] = []
        metadata = message.get("metadata")
        if isinstance(metadata, dict):
            listed = metadata.get("injected")
            for raw in listed if isinstance(listed, list) else ():
                if isinstance(raw, dict):
                    ids.append(raw.get("id"))
                    yield raw
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and "metadata" in part:
                metadata = part["metadata"]
                own = metadata.get("injected") if isinstance(metadata, dict) else None
                if isinstance(own, dict) and own.get("id") not in ids:
                    yield own


def live_records(messages: Sequence[Any], source: str) -> Live:
    """What the blocks of one source still in the history hold; the latest block has the last word.

    A message that compaction dropped took its marks along, so its records are absent. Nothing but the
    conversation is asked: side state may have been restored from another moment.
    """
    records: dict[str, str] = {}
    sections: dict[str, str] = {}
    digests: set[str] = set()
    for raw in _raw_marks(messages):
        mark = read_mark(raw) if raw.get("source") == source else None
        if mark is None:
            continue
        for gone in mark.withdrawn:
            records.pop(gone, None)
        records.update(mark.versions_by_id())
        if mark.sections:
            sections.update(mark.sections)
        digests.add(mark.quarantined_digest or mark.digest)
    return Live(records, sections, frozenset(digests))
