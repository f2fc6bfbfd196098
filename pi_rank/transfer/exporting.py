"""Memory as text of another form: PI's lines, Markdown with observations, the MCP memory server's graph."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from pi_rank.errors import ConfigError
from pi_rank.files.private import replace_private
from pi_rank.memory.records import MemoryRecord, encode_record
from pi_rank.memory.root import MemoryRoot
from pi_rank.memory.rules import rule_word

Form = Literal["jsonl", "markdown", "mcp"]
FORMS: tuple[Form, ...] = get_args(Form)
_NOT_IN_A_TAG = re.compile(r"[\s#.,;:!?()\[\]]+")
_EVERYWHERE = "Everywhere"


def exported(root: MemoryRoot, *, everything: bool = False) -> list[MemoryRecord]:
    """The records of a root, its sources' too, in the order of its files.

    :param everything: those of every status, too; deleted ones never.
    :raises MemoryRootError: the root cannot be read.
    """
    contents = root.read()
    alive = (each.record for each in contents.records if each.record.id not in contents.tombstones)
    return [record for record in alive if _is_wanted(record, everything)]


def written(records: Sequence[MemoryRecord], form: Form) -> bytes:
    """The text of a form."""
    lines = {"jsonl": _jsonl, "markdown": _markdown, "mcp": _mcp}[form](records)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet.

    :raises ConfigError: it is.
    :raises OSError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    replace_private(temporary, data)
    try:
        if os.path.lexists(path):
            raise FileExistsError
        os.link(temporary, path)  # unlike a rename, never onto a file that came meanwhile
    except FileExistsError:
        raise ConfigError(f"{path} is there already: name a file that is not") from None
    except OSError:  # there are no links on that disk
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_wanted(record: MemoryRecord, everything: bool) -> bool:
    return record.status == "active" or (everything and record.status != "deleted")


def _jsonl(records: Iterable[MemoryRecord]) -> Iterator[str]:
    return (encode_record(record).decode() for record in records)


def _markdown(records: Iterable[MemoryRecord]) -> Iterator[str]:
    """A note of basic-memory's: an observation a line, under its project."""
    places: dict[str, list[MemoryRecord]] = {}
    for record in records:
        places.setdefault(_place(record), []).append(record)
    yield from ("---", "title: Memory", "type: note", "---", "", "# Memory")
    for place in sorted(places, key=lambda place: (place != _EVERYWHERE, place)):
        yield from ("", f"## {place}", "")
        yield from map(_observation, places[place])


def _place(record: MemoryRecord) -> str:
    if record.layer == "L1" or record.scope.type != "project" or not record.scope.project:
        return _EVERYWHERE
    return " ".join(record.scope.project.split())


def _observation(record: MemoryRecord) -> str:
    kind = rule_word(record.rule_type) or (
        "identity" if record.layer == "L1" else record.memory_kind or "fact"
    )
    tags = (_NOT_IN_A_TAG.sub("-", tag).strip("-") for tag in record.tags)
    said = " ".join(record.statement.split())
    return " ".join([f"- [{kind}] {said}", *(f"#{tag}" for tag in tags if tag)])


def _mcp(records: Iterable[MemoryRecord]) -> Iterator[str]:
    """The graph: an entity for each project, and what came from such a graph as it was there."""
    entities: dict[str, tuple[str, list[str]]] = {}
    relations = []
    for record in records:
        start, kind, *rest = [*record.tags, "", ""][:3] if _is_of_mcp(record) else ("", "", "")
        if rest == [""] and kind:
            said = record.statement.removeprefix(f"{start}: ")
        elif kind and rest[0]:
            relations.append({"type": "relation", "from": start, "to": kind, "relationType": rest[0]})
            continue
        else:
            place = _place(record)
            start, kind = ("memory", "memory") if place == _EVERYWHERE else (place, "project")
            said = " ".join(record.statement.split())
        entities.setdefault(start, (kind, []))[1].append(said)
    for name, (kind, observations) in entities.items():
        yield _json({"type": "entity", "name": name, "entityType": kind, "observations": observations})
    yield from map(_json, relations)


def _is_of_mcp(record: MemoryRecord) -> bool:
    return bool(record.evidence) and record.evidence[0].type == "mcp-memory"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
