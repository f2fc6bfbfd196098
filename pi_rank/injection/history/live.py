"""What is live: the records that the model can still read in a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_rank._core.history import gather_records, intact_marks, text_key
from pi_rank.injection.history.dialects import Dialect, detect
from pi_rank.injection.history.marks import Mark, mark_to_dict, read_marks
from pi_rank.injection.history.messages import blocks_of, metadata_of, role_of


class LiveSection(msgspec.Struct, frozen=True):
    """A section that is no list of records: the digest of its last whole text, and those of its lines."""

    digest: str
    lines: tuple[str, ...] = ()


class Live(msgspec.Struct, frozen=True):
    """Record id → version digest, sections by heading, and the last text of the user's own, of one source."""

    records: dict[str, str]
    sections: dict[str, LiveSection]
    text: str = ""


def marks_in(messages: Sequence[Any], dialect: Dialect | None = None) -> Iterator[Mark]:
    """The mark of every injected text that is there in full, in the order in which the texts stand.

    A mark alone keeps nothing live: redaction and truncation leave it where its text is gone.
    """
    yield from read_marks(_intact(messages, dialect))


# Texts of which it is known that they hold the text of a digest: nothing but numbers, so nothing of them is
# kept.
_VERIFIED: set[int] = set()
MOST_VERIFIED = 1_000_000


def _intact(messages: Sequence[Any], dialect: Dialect | None) -> list[dict[str, Any]]:
    found = dialect or detect(messages)
    if len(_VERIFIED) > MOST_VERIFIED:
        _VERIFIED.clear()
    return intact_marks(messages, _VERIFIED, lambda raw: _look(raw, found))


def _look(raw: dict[str, Any], dialect: Dialect) -> list[dict[str, Any]]:
    """The marks of a message whose text is there in full, found the general way and remembered."""
    there = []
    for block in blocks_of(raw, dialect) if may_hold_marks(raw) else ():
        if block.mark is not None and block.intact:
            held = raw["content"] if block.raw is None else block.raw
            text = held if isinstance(held, str) else held["text"]
            _VERIFIED.add(text_key(text, block.mark.digest))
            there.append(mark_to_dict(block.mark))
    return there


def lines_of(messages: Sequence[Any], source: str, dialect: Dialect | None = None) -> Iterator[str]:
    """The lines of a source's texts that are there in full, the newest text first."""
    found = dialect or detect(messages)
    for raw in reversed(messages):
        if role_of(raw) == "user" and may_hold_marks(raw):
            for block in blocks_of(raw, found):
                if block.mark is not None and block.intact and block.mark.source == source:
                    yield from block.text.replace("\r\n", "\n").split("\n")


def may_hold_marks(raw: Any) -> bool:  # noqa: ANN401
    """Whether a message has metadata of its own or on one of its parts."""
    if "injected" in metadata_of(raw):
        return True
    content = raw.get("content")
    return isinstance(content, list) and any("injected" in metadata_of(part) for part in content)


def live_records(messages: Sequence[Any], source: str, dialect: Dialect | None = None) -> Live:
    """What the blocks of one source still in the history hold; the latest block has the last word.

    A message that compaction dropped took its marks along, and a text that was cut or redacted is not there:
    its records are absent. Nothing but the conversation is asked: side state may have been restored from
    another moment.
    """
    raws = _intact(messages, dialect)
    gathered = gather_records(raws, source)
    if gathered is not None:
        records, raws = gathered
        marks = read_marks([raw for raw in raws[:-1] if "sections" in raw] + raws[-1:])
    else:
        marks = [mark for mark in read_marks(raws) if mark.source == source]
        records = _records(marks)
    last = marks[-1] if marks else None
    text = "" if last is None else last.content or last.quarantined_digest or last.digest
    return Live(records, _sections(marks), text)


def _sections(marks: list[Mark]) -> dict[str, LiveSection]:
    found: dict[str, LiveSection] = {}
    for mark in marks:
        for name, digest in mark.sections.items():
            lines = mark.lines.get(name, ())
            if name in mark.continued and name in found:
                gone = mark.gone.get(name, ())
                lines = (*(line for line in found[name].lines if line not in gone), *lines)
            found[name] = LiveSection(digest, lines)
    return found


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
