"""The audit log: one JSON line for each answer on a private route. Who, when, which route, what came of
it.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from pathlib import Path

import msgspec

from pi_rank.files.private import open_private

log = logging.getLogger("pi_rank.recall")
MAX_PATH = 200
SERVER = "pi_rank"
_encode = msgspec.json.Encoder(order="sorted").encode


class AuditLog:
    """Appends rows to a file that only its owner can read; past `max_bytes` it becomes `<file>.1`, and so on.

    A row that cannot be written is counted in `failures` and logged; the answer is still given.

    :param path: None writes nothing.
    """

    def __init__(self, path: Path | None, *, max_bytes: int, backups: int, auth_enabled: bool) -> None:
        self.path = path
        self.failures = 0
        self._max_bytes = max_bytes
        self._backups = backups
        self._auth_enabled = auth_enabled
        self._lock = threading.Lock()
        self._file: int | None = None
        self._size = 0

    def record(self, client: str, method: str, path: str, status: int) -> None:
        """Write one row. `path` is the route's, without the query string."""
        if self.path is None:
            return
        row = _encode(
            {
                "auth_enabled": self._auth_enabled,
                "client": client,
                "method": method[:16],
                "outcome": "ok" if status < 400 else "error",
                "path": path[:MAX_PATH],
                "server": SERVER,
                "status": status,
                "timestamp_unix": time.time(),
            }
        )
        try:
            with self._lock:
                self._write(self.path, row + b"\n")
        except OSError as error:
            self.failures += 1
            log.error("the audit log cannot be written: %s", error.strerror or error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _write(self, path: Path, line: bytes) -> None:
        if self._file is not None and self._size + len(line) > self._max_bytes:
            self._rotate(path)
        if self._file is None:
            self._open(path)
        assert self._file is not None
        written = os.write(self._file, line)  # one call, so that rows of several processes do not mix
        self._size += written
        if written < len(line):  # a full disk: half a row must not stay, or the next one is glued to it
            self._take_back(written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _take_back(self, written: int) -> None:
        assert self._file is not None
        size = os.fstat(self._file).st_size
        if size == self._size:  # nobody else has written behind it
            os.ftruncate(self._file, size - written)
            self._size -= written

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._size = os.fstat(self._file).st_size

    def _rotate(self, path: Path) -> None:
        self._close()
        for number in range(self._backups, 1, -1):
            older = path.with_name(f"{path.name}.{number - 1}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number}"))
        if self._backups:
            path.replace(path.with_name(f"{path.name}.1"))
        else:
            path.unlink()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
