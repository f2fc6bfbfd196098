"""What memory files say: their records, of which the last one with an id counts, and what cannot be used."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pi_rank.errors import RecordError
from pi_rank.memory.files import Fingerprint
from pi_rank.memory.pieces import Piece, PieceContent, cut, decode_piece
from pi_rank.memory.records import Layer, MemoryRecord, decode_object, decode_record

TOMBSTONES = "memory/tombstones.jsonl"
PROFILES = "memory/profiles.jsonl"
_TORN_MARKER = re.compile(rb'"deleted_record_id"\s*:\s*"([\x20-\x7e]+?)(?:"|$)')
# File → SHA-256 of each of its pieces → what it holds.
Pieces = Mapping[str, Mapping[bytes, PieceContent]]


class Skipped(msgspec.Struct, frozen=True):
    """A line of a memory file that was not used: file relative to the root, 1-based line, and why."""

    file: str
    line: int
    reason: str


class RecordFile(NamedTuple):
    """A file of records: its name, its bytes, and what its records are of where they do not say.

    `numbers`: where the lines were made of another file's, the 1-based line there of each.
    """

    name: str
    data: bytes
    layer: Layer
    project: str | None
    numbers: Sequence[int] | None = None

    def line(self, number: int) -> int:
        """Where the user finds a line of `data`, of this 1-based number."""
        if self.numbers is None:
            return number
        return self.numbers[number - 1] if number <= len(self.numbers) else 1


class RootFiles(NamedTuple):
    """The memory files of a root as one reading found them.

    `records` are in the order in which they count. `unreadable` names the files (and, ending in `/`, folders)
    that are there but could not be read: what they hold is unknown, which is not the same as nothing.
    `skipped`: what of other sources could not be used.
    """

    root: Path
    records: list[RecordFile]
    tombstones: bytes
    profiles: bytes
    warnings: list[str]
    fingerprints: dict[str, Fingerprint]
    unreadable: frozenset[str]
    skipped: Sequence[Skipped] = ()

    def hold_the_same(self, known: Mapping[str, Fingerprint]) -> bool:
        """Whether these are the files of `known` to the byte, and reading them gave nothing to warn of."""
        return not self.warnings and _digests(self.fingerprints) == _digests(known)


class KnownContents(NamedTuple):
    """What an earlier reading found, and what was made of it."""

    pieces: Pieces
    tombstones: frozenset[str]


class SourcedRecord(NamedTuple):
    """A record and where it was read: file relative to the root, with forward slashes, and 1-based line."""

    record: MemoryRecord
    file: str
    line: int


class RootContents(msgspec.Struct):
    """All governed memory of a root, as one reading found it.

    Ids are unique in `records`, which are in file order. Where an earlier reading was known, they are only
    those whose id is in `touched`: each other id has the record that it had, in the file in which it was.
    """

    root: Path
    records: list[SourcedRecord]
    tombstones: frozenset[str]
    skipped: list[Skipped]
    profiles: list[dict[str, Any]]
    warnings: list[str]
    fingerprints: dict[str, Fingerprint]
    unreadable: frozenset[str]
    pieces: Pieces
    touched: frozenset[str] | None = None


def decode_files(files: RootFiles, known: KnownContents | None = None) -> RootContents:
    """What the files say. A line that is not usable is skipped and reported.

    :param known: of an earlier reading, in which each file could be read. What it says is believed: a piece
        that was in the same file then is not decoded, but for the records of it that are touched.
    """
    lines = _Lines(files.records, {} if known is None else known.pieces)
    skipped = [*lines.skipped(), *files.skipped]
    tombstones = frozenset(_tombstones(files.tombstones, skipped))
    profiles = [profile for _, profile in _objects(PROFILES, files.profiles, skipped)]
    touched = None if known is None else lines.touched(known.pieces) | (tombstones ^ known.tombstones)
    return RootContents(
        root=files.root,
        records=lines.records(touched),
        tombstones=tombstones,
        skipped=skipped,
        profiles=profiles,
        warnings=files.warnings,
        fingerprints=files.fingerprints,
        unreadable=files.unreadable,
        pieces=lines.pieces,
        touched=touched,
    )


class _Part(NamedTuple):
    """A piece in its place. `records` is None where the piece was known, and was not decoded."""

    file: RecordFile
    first_line: int
    piece: Piece
    content: PieceContent
    records: list[MemoryRecord | None] | None


class _Place(NamedTuple):
    file: str
    line: int


class _Lines:
    """The lines of all files of records, numbered on end from 0 in the order in which they count."""

    def __init__(self, files: Iterable[RecordFile], known: Pieces) -> None:
        self.pieces: dict[str, dict[bytes, PieceContent]] = {file.name: {} for file in files}
        self._parts = [part for file in files for part in self._read(file, known.get(file.name, {}))]
        self._starts = list(accumulate((len(part.content.ids) for part in self._parts), initial=0))
        self._ids = list(chain.from_iterable(part.content.ids for part in self._parts))
        self._latest = dict(zip(self._ids, range(len(self._ids)), strict=True))  # id → its last line
        self._latest.pop(None, None)
        self._repeated = list(self._find_repeated())

    def records(self, touched: Iterable[str] | None) -> list[SourcedRecord]:
        """Of each id, or of each of these that is there, the last record; in order of lines."""
        latest = self._latest
        numbers = latest.values() if touched is None else (latest[id_] for id_ in touched if id_ in latest)
        parts = groupby(sorted(numbers), self._part_of)
        return [record for part, of_part in parts for record in self._records(part, of_part)]

    def touched(self, known: Pieces) -> frozenset[str]:
        """Ids whose record, or file, may not be the one that it was in the reading that `known` is of.

        They are those in pieces that came or went, and those with several records: which of these is the last
        one may have changed without a change of the pieces that hold them. An id that is neither has one
        line, in a piece that was there before, and no other line then.
        """
        ids = {id_ for id_, _, _ in self._repeated}
        for part in self._parts:
            if part.records is not None:
                ids.update(record.id for record in part.records if record)
        for file, contents in known.items():
            for digest in contents.keys() - self.pieces.get(file, {}).keys():
                ids.update(filter(None, contents[digest].ids))
        return frozenset(ids)

    def skipped(self) -> list[Skipped]:
        """What is not used and why, in the order in which one comes upon it."""
        found: list[tuple[int, Skipped]] = []
        for start, part in zip(self._starts, self._parts, strict=False):
            for offset, reason in part.content.skipped:
                line = part.file.line(part.first_line + offset)
                found.append((start + offset, Skipped(part.file.name, line, reason)))
        for id_, earlier, later in self._repeated:
            used = self._place(later)
            reason = f"duplicate id {id_!r}: the later record at {used.file}:{used.line} is used"
            found.append((later, Skipped(*self._place(earlier), reason)))
        return [skipped for _, skipped in sorted(found, key=lambda item: item[0])]

    def _read(self, file: RecordFile, known: Mapping[bytes, PieceContent]) -> Iterator[_Part]:
        line = 1
        for piece in cut(file.data):
            content, records = known.get(piece.digest), None
            if content is None:
                content, records = decode_piece(piece.lines(), file.layer, file.project)
            self.pieces[file.name][piece.digest] = content
            yield _Part(file, line, piece, content, records)
            line += len(content.ids)

    def _find_repeated(self) -> Iterator[tuple[str, int, int]]:
        """(id, number of a line, number of the next line) with that id."""
        if len(self._latest) == len(self._ids) - self._ids.count(None):
            return
        seen: dict[str, int] = {}
        for number, id_ in enumerate(self._ids):
            if id_ is not None:
                if id_ in seen:
                    yield id_, seen[id_], number
                seen[id_] = number

    def _records(self, index: int, numbers: Iterable[int]) -> Iterator[SourcedRecord]:
        """The records of lines of one part."""
        part, start = self._parts[index], self._starts[index]
        file = part.file
        lines = part.piece.lines() if part.records is None else []
        for offset in (number - start for number in numbers):
            record = part.records[offset] if part.records is not None else None
            if record is None:
                record = decode_record(lines[offset].strip(), layer=file.layer, project=file.project)
            yield SourcedRecord(record, file.name, file.line(part.first_line + offset))

    def _place(self, number: int) -> _Place:
        index = self._part_of(number)
        part = self._parts[index]
        line = part.file.line(part.first_line + number - self._starts[index])
        return _Place(part.file.name, line)

    def _part_of(self, number: int) -> int:
        return bisect(self._starts, number) - 1


def _digests(fingerprints: Mapping[str, Fingerprint]) -> dict[str, bytes]:
    return {name: fingerprint.digest for name, fingerprint in fingerprints.items()}


def _tombstones(data: bytes, skipped: list[Skipped]) -> Iterator[str]:
    """The ids that are deleted, those of lines too that were not written to their end."""
    before = len(skipped)
    for number, marker in _objects(TOMBSTONES, data, skipped):
        deleted = marker.get("deleted_record_id")
        if isinstance(deleted, str) and deleted:
            yield deleted
        else:
            reason = f"deleted_record_id: expected an id, got {deleted!r:.60}"
            skipped.append(Skipped(TOMBSTONES, number, reason))
    if len(skipped) > before:
        lines = data.split(b"\n")
        torn = (_TORN_MARKER.search(lines[line.line - 1]) for line in skipped[before:])
        yield from (found[1].decode() for found in torn if found)


def _objects(file: str, data: bytes, skipped: list[Skipped]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line, and the line's number; what is none is added to `skipped`."""
    for number, line in enumerate(data.split(b"\n"), 1):
        stripped = line.strip()
        if stripped:
            try:
                yield number, decode_object(stripped)
            except RecordError as error:
                skipped.append(Skipped(file, number, str(error)))
