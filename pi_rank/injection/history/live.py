"""What is live: the records that a conversation's own marks say the model can still read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_rank._core.history import stored_marks
from pi_rank.injection.history.marks import Mark, read_marks


class Live(msgspec.Struct, frozen=True):
    """Record id → version digest, section name → digest, and the digests of whole blocks, of one source."""

    records: dict[str, str]
    sections: dict[str, str]
    digests: frozenset[str]


def marks_in(messages: Sequence[Any]) -> Iterator[Mark]:
    """Every mark of a history, once, in the order in which the blocks were written."""
    yield from read_marks(stored_marks(messages))


def live_records(messages: Sequence[Any], source: str) -> Live:
    """What the blocks of one source still in the history hold; the latest block has the last word.

    A message that compaction dropped took its marks along, so its records are absent. Nothing but the
    conversation is asked: side state may have been restored from another moment.
    """
    marks = read_marks([raw for raw in stored_marks(messages) if raw.get("source") == source])
    sections: dict[str, str] = {}
    for mark in marks:
        if mark.sections:
            sections.update(mark.sections)
    digests = frozenset([mark.quarantined_digest or mark.digest for mark in marks])
    return Live(_records(marks), sections, digests)


def _records(marks: list[Mark]) -> dict[str, str]:
    """Record id → version digest after the last of the marks."""
    records: dict[str, str] = {}
    ids: list[str] = []  # what blocks hold is gathered until one takes records back, and entered at once
    versions: list[str] = []
    for mark in marks:
        if mark.withdrawn:
            records.update(zip(ids, versions, strict=True))
            ids.clear()
            versions.clear()
            for gone in mark.withdrawn:
                records.pop(gone, None)
        ids += mark.record_ids
        versions += mark.each_version()
    records.update(zip(ids, versions, strict=True))
    return records
