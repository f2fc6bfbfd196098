"""Memory that is kept in other forms than PI's: what a reader of one has to say.

A source is read only. What it reads becomes lines of records, and from there on takes the way of every other
line: decoded, checked, compared and stored by the same sync.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from pi_rank.memory.files import Fingerprint
from pi_rank.memory.records import MemoryRecord


class SourceSpec(msgspec.Struct, frozen=True):
    """Which source, and where. `path` None: where it usually is.

    `named`: whoever asks named the path himself, as he would name a memory root; nothing else vouches for it.
    """

    name: str
    path: str | None = None
    named: bool = False

    def __str__(self) -> str:
        return self.name if self.path is None else f"{self.name}={self.path}"


class SourceLine(NamedTuple):
    """One record: the 1-based line that it begins in, and its fields, named as PI names them.

    `id` and `statement` are needed; a missing layer is L2, a missing status `active`. An id stays what it is
    while the record says the same in the same place, and no other record of any source has it. `read_by`
    lists the agents that always have this record before them without our help.
    """

    line: int
    fields: dict[str, Any]


def origin_of(record: MemoryRecord) -> str:
    """The file and line of a record that a source has read; "" for one of PI's own."""
    first = record.evidence[0] if record.evidence else None
    return first.ref if first is not None and record.id.startswith(f"{first.type}-") else ""


class SourceFile(NamedTuple):
    """One file as it was read: its name inside the source, with forward slashes, and what is in it.

    `skipped`: lines that are not blank and not usable, and why; of a file that is none at all, its first.
    """

    name: str
    fingerprint: Fingerprint
    lines: Sequence[SourceLine]
    skipped: Sequence[tuple[int, str]] = ()


class SourceReading(NamedTuple):
    """All files of a source as one reading found them.

    `unreadable` names files (and, ending in `/`, folders) that are there and could not be read: what they
    held when they last could be counts on.
    """

    files: Sequence[SourceFile]
    warnings: Sequence[str] = ()
    unreadable: frozenset[str] = frozenset()


class MemorySource(Protocol):
    """Reads memory of one kind from one place, and never writes there."""

    @property
    def label(self) -> str:
        """The source and its place, as `claude-md:~/work/orchard`; unique, and the same in every process."""

    def records(self, known: Mapping[str, Fingerprint]) -> SourceReading:
        """Everything there is now.

        :param known: what the files looked like at the last sync, by their names.
        :raises OSError: the place cannot be read at all; what it held counts on.
        """

    def changed_since(self, known: Mapping[str, Fingerprint]) -> bool:
        """Whether anything may have changed, told without reading files. Called before every turn."""


# Makes the sources of a spec; paths are relative to the folder. Raises ConfigError, saying what there is.
SourceOpener = Callable[[SourceSpec, Path], Sequence[MemorySource]]
