"""Why hooks recalled nothing: kept in a small file of ours, since an agent's hook may say nothing itself."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from pi_rank.files.private import open_private
from pi_rank.store.places import stores_folder

MAX_LOG_BYTES = 64 << 10


def failures_file() -> Path:
    """Where they are kept: beside the stores."""
    return stores_folder().parent / "hook.log"


def keep_failure(text: str) -> None:
    """Note one failure. Where that fails too there is nobody left to tell."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())}\n"
    with suppress(OSError):
        path = failures_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as stream:
            if os.fstat(stream.fileno()).st_size > MAX_LOG_BYTES:
                stream.truncate(0)
            stream.write(line.encode("utf-8", "replace"))


def last_failure() -> str:
    """The newest one; empty where there is none."""
    try:
        lines = failures_file().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
