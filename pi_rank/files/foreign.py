"""Files that are not ours, opened one careful way: regular ones only, without waiting, and never too much.

A repository may hold a link to a device, a folder that others share a pipe, and a disk a file that is longer
than memory: each is an OSError here, as a missing file is.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# Nothing waits for a pipe's other end, and no terminal becomes the process's own.
_CAREFUL = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_CHUNK_BYTES = 1 << 16
SMALL_BYTES = 512 << 10
"""What a file that names or sets something has at most."""


def read_foreign(path: str | Path, most_bytes: int) -> bytes:
    """The bytes of a regular file of at most `most_bytes`. Links are followed.

    :raises OSError: it is missing, may not be read, is something else than a regular file, or is longer.
    """
    regular_stat(path)  # a device is not even opened: that alone may do something
    descriptor = os.open(path, _CAREFUL)
    try:
        size = _checked(os.fstat(descriptor)).st_size
        if size > most_bytes:
            raise OSError(f"has {size:,} bytes; at most {most_bytes:,} are read")
        return _read(descriptor, size, most_bytes)
    finally:
        os.close(descriptor)


def end_of_foreign(path: str | Path, most_bytes: int) -> bytes:
    """The last `most_bytes` of a regular file that others may be writing.

    :raises OSError: it is missing, may not be read, or is something else than a regular file.
    """
    regular_stat(path)
    descriptor = os.open(path, _CAREFUL)
    try:
        size = _checked(os.fstat(descriptor)).st_size
        os.lseek(descriptor, max(0, size - most_bytes), os.SEEK_SET)
        # What comes meanwhile is left for the next time.
        return _read(descriptor, min(size, most_bytes), 2 * most_bytes)[:most_bytes]
    finally:
        os.close(descriptor)


def regular_stat(path: str | Path) -> os.stat_result:
    """What the system knows of a regular file.

    :raises OSError: it is missing, or something else than a regular file.
    """
    try:
        return _checked(os.stat(path))  # noqa: PTH116  (half the time of Path.stat, on every turn)
    except ValueError:  # a NUL, or half of a character
        raise OSError(errno.EINVAL, "is not a usable path") from None


def _checked(result: os.stat_result) -> os.stat_result:
    if stat.S_ISDIR(result.st_mode):
        raise IsADirectoryError("is a folder, not a file")
    if not stat.S_ISREG(result.st_mode):
        raise OSError("is not a regular file")
    return result


def _read(descriptor: int, size: int, most_bytes: int) -> bytes:
    chunks = []
    left = most_bytes + 1  # one more tells a file that grew past the limit meanwhile
    wanted = size + 1
    while left > 0 and (chunk := os.read(descriptor, min(left, wanted))):
        chunks.append(chunk)
        left -= len(chunk)
        wanted = _CHUNK_BYTES
    if left <= 0:
        raise OSError(f"is longer than the {most_bytes:,} bytes that are read")
    return b"".join(chunks)


def why_not_own(status: os.stat_result) -> str:
    """Why a file or folder may hold what others chose; "" where it is the user's own and nobody else's.

    A group that is the user's alone, as many systems make one for each user, is no one else.
    """
    if os.name != "posix":
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)):
        return "may be written by other users"
    return ""


def _is_private(group: int) -> bool:
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
