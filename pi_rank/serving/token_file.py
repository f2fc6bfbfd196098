"""Bearer tokens come from a file that nobody else can read or replace, and from nowhere a process list
shows.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from pi_rank.errors import ConfigError

MAX_TOKEN_BYTES = 8_192
_POSIX = os.name == "posix"


def read_token(path: str | Path) -> str:
    """The token in a file, white space around it left out.

    The file must be regular, the user's own, without any permission for others, without a symbolic link
    anywhere in its path, and hold at most 8 KiB of UTF-8 with no white space or control character inside.

    :raises ConfigError: saying what is wrong, and neither where the file is nor what is in it.
    """
    try:
        data = _read(Path(path).absolute())
    except OSError as error:
        raise ConfigError(f"the token file cannot be read: {_why(error)}") from None
    if len(data) > MAX_TOKEN_BYTES:
        raise ConfigError(f"the token file holds more than {MAX_TOKEN_BYTES} bytes")
    return checked_token(data)


def checked_token(data: bytes) -> str:
    """A token as it may stand in a header.

    :raises ConfigError: it is empty, is not UTF-8, or holds white space or a control character.
    """
    try:
        token = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise ConfigError("the token is not UTF-8") from None
    if not token:
        raise ConfigError("the token is empty")
    if not token.isprintable() or any(character.isspace() for character in token):
        raise ConfigError("the token holds white space or a control character")
    return token


def _read(path: Path) -> bytes:
    descriptor = _open_without_links(path) if _POSIX else _open_elsewhere(path)
    with os.fdopen(descriptor, "rb") as file:
        _check(os.fstat(file.fileno()))
        return file.read(MAX_TOKEN_BYTES + 1)


def _open_without_links(path: Path) -> int:
    """Walk the path folder by folder, so that no link can be put in its way between a check and the
    opening.
    """
    folder = os.open(path.anchor, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.parts[1:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Non-blocking, for a pipe would otherwise be waited on for ever; on a regular file it means nothing.
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _open_elsewhere(path: Path) -> int:
    if any(part.is_symlink() for part in (path, *path.parents)):
        raise OSError("there is a symbolic link in its path")
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError("the token file is not a regular file")
    if not _POSIX:
        return
    if found.st_uid != os.geteuid():
        raise ConfigError("the token file belongs to another user")
    if found.st_mode & 0o077:
        raise ConfigError("the token file can be read or changed by others; run chmod 600 on it")


def _why(error: OSError) -> str:
    if isinstance(error, NotADirectoryError) or error.errno == errno.ELOOP:
        return "there is a symbolic link in its path, or a part of it is no folder"
    return error.strerror or str(error)
