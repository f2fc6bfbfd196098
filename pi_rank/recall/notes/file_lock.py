"""A lock that one process holds on a file, and that ends with the process however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pi_rank.private_files import open_private


class FileLock:
    """Held from construction to `release`.

    :raises OSError: another process holds it, or the file cannot be opened, is a link, or another user's.
    """

    def __init__(self, path: Path) -> None:
        self._file = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock(self._file)
        except OSError:
            os.close(self._file)
            raise OSError("another process is using it") from None

    def release(self) -> None:
        """Let go; the file stays, for removing it would let two processes lock two files."""
        os.close(self._file)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
