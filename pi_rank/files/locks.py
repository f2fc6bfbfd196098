"""Locks between processes, which the operating system drops when their holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pi_rank.files.private import open_private

RETRY_SECONDS = 0.02
# Whoever only looks whether a lock is held has it for a moment, which must not look like a holder.
PROBE_SECONDS = 0.5


class Held(Exception):
    """Another process has the lock; `pid` is its number where it is known."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


class FileLock:
    """The lock file `path`, held from construction to `release`.

    :raises Held: another process has it, after `wait_seconds`.
    :raises OSError: the file cannot be made, is a link, or another user's.
    """

    def __init__(self, path: Path, wait_seconds: float = PROBE_SECONDS) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            deadline = time.monotonic() + wait_seconds
            while not _try_lock(self._file):
                if time.monotonic() >= deadline:
                    raise Held(holder(path))
                time.sleep(RETRY_SECONDS)
            with suppress(OSError):  # the disk may be full: the lock holds, and nobody is told for whom
                os.ftruncate(self._file, 0)
                os.write(self._file, str(os.getpid()).encode())
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let go; the file stays, for removing it would let two processes lock two files."""
        os.close(self._file)


@contextmanager
def exclusive(path: Path, wait_seconds: float = PROBE_SECONDS) -> Iterator[None]:
    """Hold the lock file `path` for the block. Raises what `FileLock` raises."""
    lock = FileLock(path, wait_seconds)
    try:
        yield
    finally:
        lock.release()


def holder(path: Path) -> int | None:
    """The process number that the last holder wrote."""
    try:
        return int(path.read_bytes())
    except (OSError, ValueError):
        return None


def is_held(path: Path) -> bool:
    """Whether some process holds the lock now."""
    if not path.exists():
        return False
    try:
        with exclusive(path, 0.0):
            return False
    except Held:
        return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
