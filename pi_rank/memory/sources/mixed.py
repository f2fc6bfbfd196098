"""The sources of one root, read together: as files among its others, and what several say only once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pi_rank.errors import ConfigError
from pi_rank.memory.contents import RecordFile, Skipped
from pi_rank.memory.files import Fingerprint
from pi_rank.memory.sources.protocol import MemorySource, SourceOpener, SourceReading, SourceSpec


class SourcedFiles(NamedTuple):
    """What all sources of a root hold. `files`: their names, and each record's line and fields."""

    files: list[tuple[str, list[tuple[int, dict[str, Any]]]]]
    fingerprints: dict[str, Fingerprint]
    skipped: list[Skipped]
    warnings: list[str]
    unreadable: set[str]

    def record_files(self) -> list[RecordFile]:
        """The files as the sync reads them: one JSON line a record."""
        return [_as_record_file(name, lines) for name, lines in self.files]


class RootSources:
    """The sources of one root, by its configuration or as its opener was told."""

    def __init__(self, opener: SourceOpener, folder: Path) -> None:
        self._opener = opener
        self._folder = folder
        self._opened: tuple[tuple[SourceSpec, ...], list[MemorySource], list[str]] = ((), [], [])

    def read(self, specs: tuple[SourceSpec, ...], known: Mapping[str, Fingerprint]) -> SourcedFiles:
        """All files of these sources. A record that an earlier one has said is left out, and named."""
        sources, problems = self._sources(specs)
        found = SourcedFiles([], {}, [], list(problems), set())
        if problems:  # what a source held that cannot be opened now is not known to be gone
            found.unreadable.update(_gone(known, sources))
        said = _Said()
        for source in sources:
            own = _of(source.label, known)
            try:
                reading = source.records(own)
            except OSError as error:
                found.unreadable.add(f"{source.label}//")
                found.fingerprints.update({f"{source.label}//{name}": seen for name, seen in own.items()})
                found.warnings.append(f"{source.label} cannot be read ({_why(error)}); what it held is kept")
                continue
            _take(found, source.label, reading, said)
        return found

    def changed_since(self, specs: tuple[SourceSpec, ...], known: Mapping[str, Fingerprint]) -> bool:
        """Whether any source, or which sources there are, may have changed."""
        sources, problems = self._sources(specs)
        labels = {label_of(name) for name in known} - {""}
        if problems or labels != {source.label for source in sources}:
            return True
        return any(source.changed_since(_of(source.label, known)) for source in sources)

    def _sources(self, specs: tuple[SourceSpec, ...]) -> tuple[list[MemorySource], list[str]]:
        if self._opened[0] != specs:
            sources: dict[str, MemorySource] = {}
            problems = []
            for spec in specs:
                try:
                    sources |= {source.label: source for source in self._opener(spec, self._folder)}
                except ConfigError as error:
                    problems.append(f"the source {spec} is left out: {error}")
            self._opened = (specs, list(sources.values()), problems)
        return self._opened[1], self._opened[2]


def label_of(file: str) -> str:
    """The label of the source that a file is of; "" for one of PI's own."""
    return file.rpartition("//")[0]


class _Said:
    """What the records so far say, and which of them says it."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, dict[str, Any]]] = {}

    def before(self, file: str, fields: dict[str, Any]) -> str:
        """The file in which the same has been said for the same place; else "", and this is noted."""
        scope = fields.get("scope") or {}
        words = str(fields.get("statement", "")).casefold()
        key = f"{words}\0{scope.get('project')}\0{fields.get('profile_id')}\0{fields.get('status')}"
        first, known = self._places.setdefault(key, (file, fields))
        if known is fields:
            return ""
        if readers := fields.get("read_by"):  # who reads either of them has read what it says
            known["read_by"] = sorted({*known.get("read_by", ()), *readers})
        return first


def _take(found: SourcedFiles, label: str, reading: SourceReading, said: _Said) -> None:
    found.warnings.extend(reading.warnings)
    found.unreadable.update(f"{label}//{name}" for name in reading.unreadable)
    for file in reading.files:
        name = f"{label}//{file.name}"
        found.fingerprints[name] = file.fingerprint
        found.skipped.extend(Skipped(name, line, reason) for line, reason in file.skipped)
        repeated: dict[str, list[int]] = defaultdict(list)
        kept = []
        for line, given in file.lines:
            fields = {**_DEFAULTS, **given}
            if first := said.before(name, fields):
                repeated[first].append(line)
            else:
                kept.append((line, fields))
        found.files.append((name, kept))
        for first, lines in repeated.items():
            count = f"{len(lines)} records" if len(lines) > 1 else "one record"
            found.skipped.append(Skipped(name, lines[0], f"{count} from here on, as in {first}: used once"))


def _as_record_file(name: str, lines: Sequence[tuple[int, dict[str, Any]]]) -> RecordFile:
    data = b"\n".join(msgspec.json.encode(fields) for _, fields in lines)
    return RecordFile(name, data, "L2", None, [line for line, _ in lines])


_DEFAULTS = {"layer": "L2", "status": "active"}


def _of(label: str, known: Mapping[str, Fingerprint]) -> dict[str, Fingerprint]:
    start = f"{label}//"
    return {name.removeprefix(start): seen for name, seen in known.items() if name.startswith(start)}


def _gone(known: Mapping[str, Fingerprint], sources: Sequence[MemorySource]) -> Iterator[str]:
    """The folders of sources that were there at the last sync and are not now."""
    labels = {label_of(name) for name in known} - {source.label for source in sources} - {""}
    return (f"{label}//" for label in sorted(labels))


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
