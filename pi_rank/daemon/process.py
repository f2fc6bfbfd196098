"""The daemon as a process: started beside the command that wants it, found by its lock.

Stopped by its number.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pi_rank
from pi_rank.daemon.client import OFF, socket_path
from pi_rank.files.locks import holder, is_held
from pi_rank.files.private import open_private

LOG_BYTES = 1 << 20  # past this the log begins anew
STOP_SECONDS = 10.0
POLL_SECONDS = 0.05
# Each request brings its client's environment along. That of the command that started the daemon, an agent's
# with its keys, is none of its own.
KEPT = ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR", "SYSTEMROOT", "PI_MEMORY_ROOT")
KEPT_PREFIXES = ("LC_", "XDG_", "PI_RANK_")


class _Detached(subprocess.Popen[bytes]):
    """A process that is not waited for."""

    def __del__(self) -> None:
        """Nothing to warn of: it still runs because it is meant to."""


def place(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the daemon's socket is; None where there can be none, or it is switched off."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(socket, "recv_fds") or environment.get(OFF) == "off":
        return None
    path = socket_path(environment)
    return None if path is None else Path(path)


def lock_of(path: Path) -> Path:
    """The lock that a running daemon holds."""
    return path.with_suffix(".lock")


def log_of(path: Path) -> Path:
    """Where it says what went wrong."""
    return path.with_suffix(".log")


def running(path: Path) -> int | None:
    """The process number of the daemon of this socket; None where none runs."""
    lock = lock_of(path)
    return (holder(lock) or 0) if is_held(lock) else None


def start(path: Path, folder: str | None = None, idle_minutes: int | None = None) -> None:
    """Start one, and do not wait for it. Where two start at once, the second ends.

    :param folder: where the first prompt will be asked: what it needs is read at once.
    :raises OSError: it cannot be started.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    words = ["daemon", "serve"]
    words += ["--folder", folder] if folder else []
    words += ["--idle-minutes", str(idle_minutes)] if idle_minutes else []
    launcher = str(Path(pi_rank.__file__).with_name("launch.py"))
    with os.fdopen(open_private(log_of(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as log:
        if os.fstat(log.fileno()).st_size > LOG_BYTES:
            log.truncate(0)
        _Detached(
            [sys.executable, "-I", "-S", launcher, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            env={k: v for k, v in os.environ.items() if k in KEPT or k.startswith(KEPT_PREFIXES)},
        )


def stop(path: Path) -> int | None:
    """End the daemon and wait for that; its process number, None where none ran.

    :raises OSError: it does not end.
    """
    pid = running(path)
    if not pid:
        return None
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_held(lock_of(path)):
        if time.monotonic() > deadline:
            raise OSError(f"the daemon (PID {pid}) did not stop within {STOP_SECONDS:.0f} seconds")
        time.sleep(POLL_SECONDS)
    return pid
