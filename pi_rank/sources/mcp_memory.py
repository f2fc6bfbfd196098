"""The knowledge graph of the MCP memory server: a record for each observation, and one for each relation.

Format: https://github.com/modelcontextprotocol/servers/tree/main/src/memory (a line of memory.jsonl is an
object, whose `type` is entity, with `name`, `entityType` and `observations`, or relation, with `from`, `to`,
`relationType`)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pi_rank.errors import RecordError
from pi_rank.memory.records import decode_object
from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import MOST_DATA_BYTES, FileSource, Reading
from pi_rank.sources.made import NOTED_CONFIDENCE, Maker, shown


class McpMemory(FileSource):
    """One file of the server, `memory.jsonl` or, of old ones, `memory.json`."""

    of_one_file = True

    def collect(self, reading: Reading) -> None:
        text = reading.text(next(self.candidates()), MOST_DATA_BYTES)
        if text is None:
            return
        maker = Maker(self.name, shown(self.base), confidence=NOTED_CONFIDENCE)
        records: list[SourceLine] = []
        skipped = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    records += _records(maker, number, decode_object(line.strip().encode()))
                except RecordError as error:
                    skipped.append((number, str(error)))
        reading.add(self.base, records, skipped)


def _records(maker: Maker, number: int, item: dict[str, Any]) -> Iterator[SourceLine]:
    kind = item.get("type")
    if kind == "entity":
        yield from _entity(maker, number, item)
    elif kind == "relation":
        start, relation, end = (_text(item, key) for key in ("from", "relationType", "to"))
        yield maker.record(
            number,
            f"{start}\0{relation}\0{end}",
            statement=f"{start} {relation.replace('_', ' ')} {end}",
            tags=[start, end, relation],
            ordered=True,
            memory_kind="fact",
        )
    else:
        raise RecordError(f"type: expected entity or relation, got {kind!r:.60}")


def _entity(maker: Maker, number: int, item: dict[str, Any]) -> Iterator[SourceLine]:
    name, kind = _text(item, "name"), _text(item, "entityType")
    observations = item.get("observations")
    if not isinstance(observations, list):
        raise RecordError(f"observations: expected a list, got {observations!r:.60}")
    for observation in observations:
        # Servers derived from this one keep an object with the time beside the words.
        said = observation.get("content") if isinstance(observation, dict) else observation
        when = observation.get("timestamp") if isinstance(observation, dict) else None
        if not isinstance(said, str) or not said.strip():
            raise RecordError(f"observations: expected texts, got {observation!r:.60}")
        yield maker.record(
            number,
            f"{name}\0{said}",
            statement=said if _names(said, name) else f"{name}: {said}",
            tags=[name, kind],
            ordered=True,
            memory_kind="fact",
            updated_at=when if isinstance(when, str) else None,
        )


def _names(said: str, name: str) -> bool:
    """Whether an observation says what it is about; one that begins as we would begin it gets it again."""
    return said.casefold().startswith(name.casefold()) and not said.startswith(f"{name}: ")


def _text(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RecordError(f"{key}: expected a text, got {value!r:.60}")
    return value.strip()
