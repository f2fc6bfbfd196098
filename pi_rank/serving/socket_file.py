"""The file of a Unix socket that a daemon listens at: made for its owner alone, known again as its own."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BACKLOG = 128


class SocketFile:
    """Whoever binds it holds the lock that says that there is no other daemon; its folder is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None

    def bound(self, look_around_seconds: float) -> socket.socket:
        """A listener at the path, in place of what a dead daemon left there.

        :param look_around_seconds: how long it waits for a client before it lets its daemon look around.
        :raises OSError: the path cannot be bound.
        """
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # readable and writable by the owner alone, from the first moment
        try:
            listener.bind(str(self._path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
        listener.settimeout(look_around_seconds)
        self._identity = self._found()
        return listener

    def is_ours(self) -> bool:
        """Whether the file at the path is still the one that was made here."""
        with suppress(OSError):
            return self._found() == self._identity
        return False

    def withdraw(self) -> None:
        """Take the file away, where no other daemon has put its own there."""
        if self.is_ours():
            self._path.unlink(missing_ok=True)

    def _found(self) -> tuple[int, int]:
        """Tells one socket from the next at its path; a number of an inode alone is soon used again."""
        found = self._path.stat()
        return found.st_ino, found.st_ctime_ns
