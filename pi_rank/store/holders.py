"""Who holds a store that one has to wait for, as far as the operating system tells."""

from __future__ import annotations

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")  # Linux only
MOST_CHARACTERS = 80


def holder_of(path: Path) -> str:
    """The other process that has a lock on a store's files, for a sentence; unnamed where nobody tells."""
    try:
        inodes = {str(each.stat().st_ino) for each in (path, _beside(path, "-shm")) if each.exists()}
        lines = [line.split() for line in _LOCKS.read_text().splitlines()]
    except (OSError, ValueError):
        return "another process"
    # 1: POSIX ADVISORY WRITE 4711 fe:01:131 120 120
    for words in sorted(lines, key=lambda words: "WRITE" not in words):
        if len(words) > 5 and words[5].rpartition(":")[2] in inodes and words[4] != str(os.getpid()):
            return f"process {words[4]}{_named(words[4])}"
    return "another process"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _named(pid: str) -> str:
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    command = " ".join(Path(word).name if "/" in word else word for word in words if word)
    shown = "".join(character if character.isprintable() else " " for character in command)
    return f" ({shown[:MOST_CHARACTERS]})" if shown else ""
