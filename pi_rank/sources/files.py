"""What all sources of files have in common: files are read whole, with care, and what goes wrong is named."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from pi_rank.files.foreign import regular_stat
from pi_rank.memory.files import (
    SETTLED_NS,
    Fingerprint,
    is_half_written,
    read_version,
    without_bom,
)
from pi_rank.memory.sources.protocol import SourceFile, SourceLine, SourceReading
from pi_rank.sources.made import shown
from pi_rank.sources.trust import Trust, Verdict

READING_VERSION = 1
"""Raise this whenever a file may give other records than before: it is then read again, changed or not."""
MOST_TEXT_BYTES = 4 << 20
"""Of a file of notes or rules: a hundred times what agents keep there."""
MOST_DATA_BYTES = 256 << 20
"""Of a file with a whole memory in it."""
_STATE = ""  # the name under which a source remembers how it was read
_MISSING = Fingerprint(-1, 0, b"", False)  # of a file that others name, and that may come
_LEFT_OUT = b"not trusted"


class Reading:
    """One reading of a source: collects files as it goes, each once."""

    def __init__(self, base: Path, trust: Verdict, known: Mapping[str, Fingerprint]) -> None:
        self.base = base
        self._trust = trust
        self._known = known
        self._files: dict[str, SourceFile] = {}
        self._warnings: list[str] = []
        self._notes: list[tuple[int, str]] = []
        self._unreadable: set[str] = set()

    def name_of(self, path: Path) -> str:
        """A file's name inside the source."""
        return path.relative_to(self.base).as_posix() if path != self.base else path.name

    def text(self, path: Path, most_bytes: int = MOST_TEXT_BYTES) -> str | None:
        """What a file says, as UTF-8; None where it cannot be used, which is then noted."""
        name = self.name_of(path)
        try:
            status = regular_stat(path)
            if status.st_size > most_bytes:
                reason = f"has {status.st_size:,} bytes; at most {most_bytes:,} are read"
                self._refuse(name, reason, _unread(status, reason))
                return None
            version = read_version(path)
        except (FileNotFoundError, NotADirectoryError):
            self._files[name] = SourceFile(name, _MISSING, ())
            return None
        except OSError as error:
            self._cannot_read(name, error.strerror or str(error))
            return None
        if is_half_written(version, self._known.get(name)):
            self._cannot_read(name, "it has lost its end and is being written")
            return None
        data = without_bom(version.data)
        if reason := _not_text(data):
            self._refuse(name, reason, version.fingerprint)
            return None
        if not self._trust.admits(path, version.fingerprint.digest):
            # Not settled: looked at anew each time, so that each run says that it is left out.
            left_out = version.fingerprint._replace(digest=_LEFT_OUT, settled=False)
            self._files[name] = SourceFile(name, left_out, ())
            return None
        if not version.stable:
            self._warnings.append(f"{name} kept changing while it was read; sync again when it is quiet")
        self._files[name] = SourceFile(name, version.fingerprint, ())
        return data.decode("utf-8", "replace")

    def day(self, path: Path) -> str:
        """The day in UTC on which a file that was read was last written, as YYYY-MM-DD."""
        seconds = self._files[self.name_of(path)].fingerprint.mtime_ns / 1e9
        return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()

    def add(self, path: Path, lines: Iterable[SourceLine], skipped: Iterable[tuple[int, str]] = ()) -> None:
        """What a file that was read holds."""
        name = self.name_of(path)
        known = self._files[name]
        self._files[name] = known._replace(lines=[*known.lines, *lines], skipped=[*known.skipped, *skipped])

    def note(self, warning: str) -> None:
        """Something of the source as a whole that its user should know."""
        self._notes.append((1, warning))

    def alias(self, link: Path, target: Path) -> None:
        """A second name of a file that was read."""
        name, known = self.name_of(link), self._files.get(self.name_of(target))
        if known is not None and name not in self._files:
            self._files[name] = SourceFile(name, known.fingerprint, ())

    def refuse(self, path: Path, reason: str) -> None:
        """A file that is there and is not read."""
        name = self.name_of(path)
        self._refuse(name, reason, _unread(path.lstat(), reason))

    def found(self, state: bytes) -> SourceReading:
        """All of it."""
        own = SourceFile(_STATE, Fingerprint(0, 0, state, True), (), self._notes)
        return SourceReading([own, *self._files.values()], self._warnings, frozenset(self._unreadable))

    def _refuse(self, name: str, reason: str, seen: Fingerprint) -> None:
        """A file that is there, can be read, and is no memory."""
        self._files[name] = SourceFile(name, seen, (), [(1, reason)])

    def _cannot_read(self, name: str, why: str) -> None:
        self._unreadable.add(name)
        if name in self._known:
            self._files[name] = SourceFile(name, self._known[name]._replace(settled=False), ())
        self._warnings.append(f"{shown(self.base / name)} cannot be read ({why}); what it held is kept")


class FileSource:
    """A source of files below one folder, or of one file. Subclasses say which, and what is in them."""

    of_one_file = False

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        """:param base: the folder or file, absolute, links resolved."""
        self.name = name
        self.base = base
        self._trust = trust

    @property
    def label(self) -> str:
        """As `claude-md:~/work/orchard`."""
        return f"{self.name}:{shown(self.base)}"

    def names(self) -> Iterable[str]:
        """The files that there are now and that are read, by their paths below the folder, with slashes.

        :raises OSError: the folder cannot be looked into.
        """
        if not self.of_one_file:
            raise NotImplementedError
        self.base.stat()  # a file that is gone is not an empty one
        return [self.base.name]

    def candidates(self) -> Iterator[Path]:
        """The same files.

        :raises OSError: as `names`.
        """
        folder = self._folder()
        return (folder / name for name in self.names())

    def collect(self, reading: Reading) -> None:
        """Read the files, and give each one's records to `reading`.

        :raises OSError: as `names`.
        """
        raise NotImplementedError

    def records(self, known: Mapping[str, Fingerprint]) -> SourceReading:
        """Everything there is now (see `MemorySource.records`)."""
        trust = self._trust.now()
        reading = Reading(self._folder(), trust, known)
        if trust.some:
            self.collect(reading)
        return reading.found(_digest(trust))

    def changed_since(self, known: Mapping[str, Fingerprint]) -> bool:
        """Whether the files, or the rules by which they are read, may be others than at `known`."""
        state, trust = known.get(_STATE), self._trust.now()
        if state is None or state.digest != _digest(trust):
            return True
        if not trust.some:
            return False
        folder = str(self._folder())
        try:
            now = set(self.names())
        except OSError:
            return True
        files = known.keys() - {_STATE}
        return not now <= files or not all(_is_same(f"{folder}/{name}", known[name]) for name in files)

    def digests(self) -> dict[str, str]:
        """SHA-256 of each file that is read now, by its path below the folder; for who is to trust them.

        :raises OSError: the folder cannot be looked into.
        """
        files = self.records({}).files
        return {
            file.name: file.fingerprint.digest.hex()
            for file in files
            if file.name and file.fingerprint.size >= 0
        }

    def _folder(self) -> Path:
        return self.base.parent if self.of_one_file else self.base


def _is_same(path: str, seen: Fingerprint) -> bool:
    """Whether a file is what it was, by size and time; of thousands of notes, before every turn."""
    try:
        now = os.stat(path)  # noqa: PTH116  (half the time of Path.stat)
    except OSError:
        return seen == _MISSING
    return bool(seen.settled) and (now.st_size, now.st_mtime_ns) == (seen.size, seen.mtime_ns)


def _unread(status: os.stat_result, reason: str) -> Fingerprint:
    settled = time.time_ns() - status.st_mtime_ns > SETTLED_NS
    return Fingerprint(status.st_size, status.st_mtime_ns, hashlib.sha256(reason.encode()).digest(), settled)


def _digest(trust: Verdict) -> bytes:
    return hashlib.sha256(f"{READING_VERSION}\0{trust.state}".encode()).digest()


def _not_text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16; save it as UTF-8"
    return "is no text" if b"\0" in data[:8192] else ""
