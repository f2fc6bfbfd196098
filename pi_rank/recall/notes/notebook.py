"""The notes as memory: one record for all notes that say the same, whether merged on disk yet or not."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timezone

from pi_rank.memory.records import Evidence, MemoryRecord
from pi_rank.recall.notes.log import Line, Merge, Note

NOTE_CONFIDENCE = 0.5  # nobody has vouched for a note


@dataclass
class _Topic:
    """Notes that say the same, oldest first. `merged`: those that a line of the file says so of."""

    notes: list[Note] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)


class Notebook:
    """What the notes file says, topic by topic. Not for several threads at once."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._topic_of: dict[str, _Topic] = {}
        self.note_count = 0

    @property
    def topic_count(self) -> int:
        """How many different things the notes say."""
        return len(self._topics)

    def add(self, line: Line) -> MemoryRecord | None:
        """Take in a line of the file; the record of a topic that is new with it."""
        if isinstance(line, Merge):
            self._merge(line)
            return None
        if line.id in self._topic_of:
            return None
        self.note_count += 1
        topic = self._topics.setdefault(same_words(line.content), _Topic())
        topic.notes.append(line)
        self._topic_of[line.id] = topic
        return _record(topic) if len(topic.notes) == 1 else None

    def saying(self, note_id: str) -> list[str]:
        """The ids of all notes that say what this one says, its own among them; none where there is none."""
        topic = self._topic_of.get(note_id)
        return [] if topic is None else [note.id for note in topic.notes]

    def forget(self, ids: list[str]) -> None:
        """Take back notes that `saying` gave together."""
        self._topics.pop(same_words(self._topic_of[ids[0]].notes[0].content))
        for note_id in ids:
            del self._topic_of[note_id]
        self.note_count -= len(ids)

    def records(self) -> list[MemoryRecord]:
        """One record for each topic, in the order they came up."""
        return [_record(topic) for topic in self._topics.values()]

    def duplicates(self) -> list[Merge]:
        """The merges that are not in the file yet."""
        now = utc_now()
        return [
            Merge(into=topic.notes[0].id, ids=tuple(note.id for note in rest), at=now)
            for topic in self._topics.values()
            if (rest := [note for note in topic.notes[1:] if note.id not in topic.merged])
        ]

    def _merge(self, merge: Merge) -> None:
        topic = self._topic_of.get(merge.into)
        if topic is not None:
            topic.merged.update(merge.ids)


def same_words(text: str) -> str:
    """What two notes that say the same have in common: every sign, and nothing of the spacing.

    Case and compatibility forms tell notes apart: a password is one in one case only, and 10⁵ is not 105.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def utc_now() -> str:
    """Now, as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _record(topic: _Topic) -> MemoryRecord:
    """The topic's first note as a record; a merged topic is found by the triggers of all its notes."""
    first = topic.notes[0]
    known = [note for note in topic.notes if note is first or note.id in topic.merged]
    triggers = tuple(dict.fromkeys(note.trigger for note in known if note.trigger))
    return MemoryRecord(
        id=first.id,
        statement=first.content,
        layer="L3",
        status="active",
        confidence=NOTE_CONFIDENCE,
        tags=triggers,
        evidence=(Evidence(type="note", ref="remember"),),
        created_at=first.at,
        updated_at=first.at,
        applies_when=triggers,
    )
