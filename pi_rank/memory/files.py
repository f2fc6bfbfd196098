"""Reading files that another program may be writing: whole versions only, and cheap checks for change."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

READ_ATTEMPTS = 5
RETRY_SECONDS = 0.01
# A program that rewrites a file empties it first. One touched this recently may be between the two.
QUIET_NS = 20_000_000
# A file written again within its clock's step keeps its size and time: only an older one is known by them.
# Two seconds is the coarsest step in use (FAT).
SETTLED_NS = 2_000_000_000
_INT64 = (1 << 63) - 1  # what SQLite can hold; Windows has larger numbers of files


TAIL_BYTES = 256


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


def read_version(path: Path) -> FileVersion:
    """Read a file; where it changes meanwhile, or was changed a moment ago, wait a little and read it again.

    :raises OSError: it is missing, may not be read, or is no regular file (a pipe would block).
    """
    for attempt in range(1, READ_ATTEMPTS + 1):
        data, result, stable = _read_once(path)
        if stable and not 0 <= time.time_ns() - result.st_mtime_ns <= QUIET_NS:
            break
        if attempt < READ_ATTEMPTS:
            time.sleep(RETRY_SECONDS * attempt)
    fingerprint = Fingerprint(
        len(data),
        result.st_mtime_ns,
        hashlib.sha256(data).digest(),
        stable and _is_settled(result),
        result.st_ino & _INT64,
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


def without_bom(data: bytes) -> bytes:
    """The bytes without a UTF-8 byte order mark, which Windows editors write."""
    return data[3:] if data.startswith(b"\xef\xbb\xbf") else data


class LiveFile(Generic[T]):
    """A small file that every turn looks at: parsed again only when its size, time or inode changed."""

    def __init__(self, path: Path, parse: Callable[[bytes], T]) -> None:
        self._path = path
        self._name = str(path)
        self._parse = parse
        self._empty = parse(b"")
        self._known: tuple[tuple[int, int, int] | None, T] = (None, self._empty)

    def read(self) -> T:
        """The parsed content; that of an empty file where the file is missing.

        :raises OSError: it is there but cannot be read.
        """
        try:
            now = os.stat(self._name)  # noqa: PTH116  (half the time of Path.stat, on every turn)
        except (FileNotFoundError, NotADirectoryError):
            return self._empty
        signature, value = self._known
        if signature == _signature(now):
            return value
        data, result, stable = _read_once(self._path)  # a turn waits for nobody: the next one reads again
        value = self._parse(without_bom(data))
        self._known = (_signature(result) if stable and _is_settled(result) else None, value)
        return value


def _tail(data: bytes) -> bytes:
    lines = data[-TAIL_BYTES:].rstrip().rpartition(b"\n")
    return lines[2]


def _read_once(path: Path) -> tuple[bytes, os.stat_result, bool]:
    """The file's bytes, its state after the reading, and whether that was its state before it too."""
    before = _regular_stat(path)
    data = path.read_bytes()
    after = _regular_stat(path)
    return data, after, _signature(before) == _signature(after) and len(data) == after.st_size


def _regular_stat(path: Path) -> os.stat_result:
    result = path.stat()
    if stat.S_ISDIR(result.st_mode):
        raise IsADirectoryError("is a folder, not a file")
    if not stat.S_ISREG(result.st_mode):
        raise OSError("is not a regular file")
    return result


def _signature(result: os.stat_result) -> tuple[int, int, int]:
    return result.st_mtime_ns, result.st_size, result.st_ino


def _is_settled(result: os.stat_result) -> bool:
    return time.time_ns() - result.st_mtime_ns > SETTLED_NS
