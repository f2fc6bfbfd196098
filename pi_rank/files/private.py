"""Files of our own at predictable places: no link is followed, and no other user's taken for ours."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from io import FileIO
from pathlib import Path

ABANDONED_SECONDS = 3600.0  # a temporary file older than this belongs to no writer that still runs
# A link in the place of our file would lead the pen elsewhere, and a pipe would be waited on for ever.
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND


def open_private(path: str | Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of our file at `path`; where `flags` have O_CREAT, nobody gets more of it than `mode`.

    :raises OSError: it cannot be opened, is a link or no regular file, or belongs to another user.
    """
    try:
        descriptor = os.open(path, flags | _CAREFUL | getattr(os, "O_BINARY", 0), mode)
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
        if flags & os.O_CREAT:
            _close_to_others(descriptor, found, mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def refuse_planted(path: Path) -> None:
    """Let nobody have a file, or a link, wait for us under a name that can be guessed.

    :raises OSError: what is at `path` is another user's, in a folder where everybody may write.
    """
    if os.name != "posix":
        return
    try:
        found, folder = path.lstat(), path.parent.stat()
    except OSError:
        return  # there is nothing, or whoever opens it meets the reason
    if found.st_uid not in (os.geteuid(), 0) and folder.st_mode & stat.S_IWOTH:
        raise OSError(errno.EPERM, f"{path} was put there by another user, where everybody may write")


def replace_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write our file at `path`, so that a reader sees the old one or the whole new one.

    :raises OSError: it cannot be written; the old one is untouched.
    """
    with replacing(path, mode) as file:
        write_all(file, data)


@contextmanager
def replacing(path: Path, mode: int = 0o600, *, lasting: bool = True) -> Iterator[FileIO]:
    """A new file, unbuffered, that takes the place of the one at `path` when the block ends well.

    :param lasting: wait until it would survive a power cut. A cache that is checked when it is read need not.
    :raises OSError: it cannot be written; the old one is untouched.
    """
    _remove_abandoned(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with os.fdopen(open_private(temporary, _NEW, mode), "r+b", buffering=0) as file:
            yield file
            if lasting:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if lasting:
        sync_folder(path.parent)


def write_all(file: FileIO, data: bytes | memoryview) -> None:
    """Write all of the data to an unbuffered file.

    :raises OSError: not all of it could be written.
    """
    left = memoryview(data).cast("B")
    while left:
        left = left[file.write(left) :]


def sync_folder(folder: Path) -> None:
    """Make a new file's name as durable as its content. Windows has no such call, and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _close_to_others(descriptor: int, found: os.stat_result, mode: int) -> None:
    """Take from others what they may, also where the file was there before."""
    if os.name == "posix" and found.st_uid == os.geteuid() and found.st_mode & 0o777 & ~mode:
        os.fchmod(descriptor, found.st_mode & mode)


def _remove_abandoned(path: Path) -> None:
    """Remove what writers left behind that were killed before they could replace the file."""
    for temporary in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        try:
            if time.time() - temporary.lstat().st_mtime > ABANDONED_SECONDS:
                temporary.unlink()
        except OSError:
            continue  # another process was first, or another user put it there
