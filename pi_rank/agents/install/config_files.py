"""A configuration file of another program: read as it is, replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.files.foreign import read_foreign
from pi_rank.files.private import replacing, write_all

MAX_BYTES = 64 << 20  # Claude Code keeps a history of projects in one of them
NEW_MODE = 0o600


def read_text(path: Path) -> str | None:
    """The file's text with every byte in it, None where there is no file.

    :raises ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return read_foreign(path, MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(
                f"{path} is a link to {path.readlink()}, which is not there; mend or remove it"
            ) from None
        return None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8; it is left as it is") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None


def write_text(path: Path, before: str | None, after: str) -> list[str]:
    """Replace the file that was read as `before`; the folders that were made for it. A link stays, its
    target changes.

    :raises ConfigError: it cannot be written, is read-only, or was changed meanwhile; it is as it was.
    """
    target = Path(os.path.realpath(path))
    made = _make_folders(target.parent)
    try:
        mode = _mode(target)
        # It may hold keys: nobody else reads it, not even until it has its own mode.
        with replacing(target) as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), mode)
            write_all(file, after.encode("utf-8"))
            require_same(path, before)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
    return made


def remove(path: Path, before: str) -> None:
    """Remove the file that was read as `before`.

    :raises ConfigError: it cannot be removed, or was changed meanwhile.
    """
    require_same(path, before)
    try:
        path.unlink()
    except OSError as error:
        raise ConfigError(f"{path} cannot be removed: {error.strerror or error}") from None


def require_same(path: Path, before: str | None) -> None:
    """Refuse where the file is another than the one that was read.

    :raises ConfigError: it is.
    """
    if read_text(path) != before:
        raise ConfigError(f"{path} was changed meanwhile; nothing was written, run the command again")


def _mode(target: Path) -> int:
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return NEW_MODE
    if not found & stat.S_IWUSR:
        raise PermissionError(0, "it is read-only; make it writable first, or change it yourself")
    return stat.S_IMODE(found)


def _make_folders(folder: Path) -> list[str]:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        try:
            each.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder {each} cannot be made: {error.strerror or error}") from None
    return [str(each) for each in missing]
