"""What mem0 gives out: the answer of `get_all`, or an export, saved as JSON.

Formats: https://docs.mem0.ai/api-reference/memory/get-memory (a memory's fields),
https://docs.mem0.ai/cookbooks/essentials/exporting-memories (`results`, with `count`)
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import MOST_DATA_BYTES, FileSource, Reading
from pi_rank.sources.made import NOTED_CONFIDENCE, Maker, shown

_LISTS = ("results", "memories")
_WORDS = ("memory", "text", "content", "data")


class Mem0(FileSource):
    """One file with a list of memories, or an object that holds one."""

    of_one_file = True

    def collect(self, reading: Reading) -> None:
        text = reading.text(next(self.candidates()), MOST_DATA_BYTES)
        if text is None:
            return
        memories = _memories(text)
        if isinstance(memories, str):
            reading.add(self.base, (), [(1, memories)])
            return
        maker = Maker(self.name, shown(self.base), confidence=NOTED_CONFIDENCE)
        records, skipped = [], []
        lines = _Lines(text)
        for memory in memories:
            words = _said(memory)
            line = lines.of(memory)
            if words:
                records.append(_record(maker, line, words, memory))
            else:
                skipped.append((line, f"memory: expected some text, got {memory!r:.60}"))
        reading.add(self.base, records, skipped)


class _Lines:
    """Where memories stand in the text, asked in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line = 0, 1

    def of(self, memory: object) -> int:
        """The line of a memory's id, else that of the memory before it."""
        own = memory.get("id") if isinstance(memory, dict) else None
        at = self._text.find(json.dumps(own), self._at) if own is not None else -1
        if at >= 0:
            self._line += self._text.count("\n", self._at, at)
            self._at = at
        return self._line


def _memories(text: str) -> list[Any] | str:
    """The memories of a file, or why there are none."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        return f"not JSON: {error}"
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        return "expected a list of memories, or an object with one under `results`"
    return value


def _said(memory: object) -> str:
    if not isinstance(memory, dict):
        return ""
    words = next((memory[key] for key in _WORDS if isinstance(memory.get(key), str)), "")
    return words.strip()


def _record(maker: Maker, line: int, words: str, memory: dict[str, Any]) -> SourceLine:
    metadata = memory.get("metadata")
    kept = (
        [value for value in metadata.values() if isinstance(value, str)] if isinstance(metadata, dict) else []
    )
    categories = memory.get("categories")
    named = [each for each in categories if isinstance(each, str)] if isinstance(categories, list) else []
    return maker.record(
        line,
        words,
        own_id=_text(memory, "id"),
        tags=[*named, *(value for value in kept if len(value) <= 60)],
        created_at=_text(memory, "created_at"),
        updated_at=_text(memory, "updated_at") or _text(memory, "created_at"),
        valid_to=_text(memory, "expiration_date"),
        resource_id=_text(memory, "user_id"),
    )


def _text(memory: dict[str, Any], key: str) -> str | None:
    value = memory.get(key)
    return value if isinstance(value, str) and value else None
