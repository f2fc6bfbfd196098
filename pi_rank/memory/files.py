"""Reading files that another program may be writing: whole versions only, and cheap checks for change."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pi_rank.files.foreign import read_foreign, regular_stat

T = TypeVar("T")

READ_ATTEMPTS = 5
RETRY_SECONDS = 0.01
# A program that rewrites a file empties it first. One touched this recently may be between the two.
QUIET_NS = 20_000_000
# A file written again within its clock's step keeps its size and time: only an older one is known by them.
# Two seconds is the coarsest step in use (FAT).
SETTLED_NS = 2_000_000_000
# What has lost its end is believed once nobody has written into it for so long.
BELIEVED_NS = 2_000_000_000
_INT64 = (1 << 63) - 1  # what SQLite can hold; Windows has larger numbers of files
TAIL_BYTES = 256
# Ten times what was ever seen of each: a longer one is a mistake, and must not take the machine's memory.
MOST_MEMORY_BYTES = 512 << 20
MOST_LIVE_BYTES = 4 << 20


class Fingerprint(NamedTuple):
    """What a file looked like when read. `settled`: size and time alone tell whether it changed since.

    `tail`: the end of its last line that is not blank, by which a file that was not written to its end is
    told from one that lost a line.
    """

    size: int
    mtime_ns: int
    digest: bytes
    settled: bool
    inode: int = 0
    tail: bytes = b""


class FileVersion(NamedTuple):
    """The bytes of one version of a file. Not `stable`: it changed at each attempt and may be half of one."""

    data: bytes
    fingerprint: Fingerprint
    stable: bool


class Reading(NamedTuple):
    """The bytes of a file and its state after the reading. `stable`: that was its state before it too."""

    data: bytes
    status: os.stat_result
    stable: bool

    @property
    def settled(self) -> bool:
        """Whether size and time alone will tell that it changed."""
        return self.stable and time.time_ns() - self.status.st_mtime_ns > SETTLED_NS


def read_version(path: Path) -> FileVersion:
    """Read a file; where it changes meanwhile, or was changed a moment ago, wait a little and read it again.

    :raises OSError: as `read_foreign` with `MOST_MEMORY_BYTES`.
    """
    for attempt in range(1, READ_ATTEMPTS + 1):
        reading = read_now(path, MOST_MEMORY_BYTES)
        if reading.stable and not 0 <= time.time_ns() - reading.status.st_mtime_ns <= QUIET_NS:
            break
        if attempt < READ_ATTEMPTS:
            time.sleep(RETRY_SECONDS * attempt)
    data, status, stable = reading
    fingerprint = Fingerprint(
        len(data),
        status.st_mtime_ns,
        hashlib.sha256(data).digest(),
        reading.settled,
        status.st_ino & _INT64,
        _tail(data),
    )
    return FileVersion(data, fingerprint, stable)


def is_known(path: Path, known: Fingerprint) -> bool:
    """Whether size and time alone say that the file is still what it was. Where they cannot tell: False."""
    try:
        now = path.stat()
    except OSError:
        return False
    return known.settled and (now.st_size, now.st_mtime_ns) == (known.size, known.mtime_ns)


def is_half_written(version: FileVersion, known: Fingerprint | None) -> bool:
    """Whether a file that was `known` may be half of what a program is writing into it.

    That is where it was written into a moment ago, is no new file in its place, has lost the end that it had,
    and is shorter than before or ends in the middle of a line.
    """
    now, data = version.fingerprint, version.data
    if known is None or not known.tail or now.inode != known.inode:
        return False
    if not 0 <= time.time_ns() - now.mtime_ns <= BELIEVED_NS or known.tail in data:
        return False
    return now.size < known.size or not data.endswith(b"\n")


def without_bom(data: bytes) -> bytes:
    """The bytes without a UTF-8 byte order mark, which Windows editors write."""
    return data[3:] if data.startswith(b"\xef\xbb\xbf") else data


class LiveFile(Generic[T]):
    """A small file that every turn looks at: parsed again only when its size, time or inode changed."""

    def __init__(self, path: Path, parse: Callable[[bytes], T], most_bytes: int = MOST_LIVE_BYTES) -> None:
        self._path = path
        self._name = str(path)
        self._parse = parse
        self._most_bytes = most_bytes
        self._empty = parse(b"")
        self.last: T | None = None  # what the last reading that succeeded gave
        self._known: tuple[tuple[int, int, int] | None, T] = (None, self._empty)

    def read(self) -> T:
        """The parsed content; that of an empty file where the file is missing.

        :raises OSError: it is there but cannot be read.
        """
        try:
            now = os.stat(self._name)  # noqa: PTH116  (half the time of Path.stat, on every turn)
        except (FileNotFoundError, NotADirectoryError):
            self.last = self._empty
            return self._empty
        known, value = self._known
        if known == signature(now):
            return value
        reading = read_now(self._path, self._most_bytes)  # a turn waits for nobody: the next one reads again
        self.last = value = self._parse(without_bom(reading.data))
        self._known = (signature(reading.status) if reading.settled else None, value)
        return value


def _tail(data: bytes) -> bytes:
    lines = data[-TAIL_BYTES:].rstrip().rpartition(b"\n")
    return lines[2]


def read_now(path: Path, most_bytes: int) -> Reading:
    """Read a file once, whoever may be writing it.

    :raises OSError: as `read_foreign`.
    """
    before = regular_stat(path)
    data = read_foreign(path, most_bytes)
    after = regular_stat(path)
    return Reading(data, after, signature(before) == signature(after) and len(data) == after.st_size)


def signature(status: os.stat_result) -> tuple[int, int, int]:
    """By what a file is known, cheaply, to be the one that was read."""
    return status.st_mtime_ns, status.st_size, status.st_ino
