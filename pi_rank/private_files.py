"""Files of our own at predictable places: no link is followed, and no other user's taken for ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# A link in the place of our file would lead the pen elsewhere, and a pipe would be waited on for ever.
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def open_private(path: str | Path, flags: int) -> int:
    """A descriptor of our file at `path`; where `flags` have O_CREAT, it is made for its owner alone.

    :raises OSError: it cannot be opened, is a link or no regular file, or belongs to another user.
    """
    try:
        descriptor = os.open(path, flags | _CAREFUL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114  (the error's number for it differs between systems)
            raise OSError(error.errno, "is a link, which is not followed", str(path)) from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is not a regular file")
        if os.name == "posix" and found.st_uid not in (os.geteuid(), 0):
            raise OSError(f"{path} belongs to another user")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def replace_private(path: Path, data: bytes) -> None:
    """Write our file at `path`, for its owner alone, so that a reader sees the old one or the whole new one.

    :raises OSError: it cannot be written; the old one is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
