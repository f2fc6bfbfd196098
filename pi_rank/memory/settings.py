"""PI's settings of a project: found inside the project only, believed where nobody else could write them."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pi_rank.errors import ConfigError, UntrustedWarning
from pi_rank.files.foreign import SMALL_BYTES, read_foreign, why_not_own
from pi_rank.memory.trusted import is_trusting, trusted_folders

# PI keeps its settings under its own name; the bare key is read too.
SETTINGS_SECTION = "pi-persistent-intelligence"
SETTINGS_FILE = Path(".pi") / "settings.json"
_OURS = ("localPath", "projectIdentity")


class Settings(NamedTuple):
    """The settings of the folder that holds `.pi`, their file's digest, and why they may not be believed."""

    folder: Path
    values: dict[str, Any]
    digest: str
    doubt: str

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / SETTINGS_FILE


def read_settings(folder: Path) -> Settings | None:
    """The settings that count in a folder; None where there are none.

    They are the nearest ones up to the project's top: its git root, else the folder itself, and never above
    the home folder. File and folders must be the user's own and not writable by others, or trusted as they
    are (`pi-rank trust`): else they are left out, with an UntrustedWarning.

    :raises ConfigError: the file is there but is no JSON object.
    """
    try:
        found = find_settings(folder)
    except OSError as error:
        _warn(f"{error.filename} is left out: it {error.strerror}")
        return None
    if found is None or not found.doubt or is_trusting():
        return found
    entry = trusted_folders().get(str(found.folder))
    if entry is not None and entry.settings == found.digest:
        return found
    if any(key in found.values for key in _OURS):
        _warn(
            f"{found.path} is left out: it, or its folder, {found.doubt}; "
            f"`pi-rank trust {found.folder}` has it used as it is"
        )
    return None


def find_settings(folder: Path) -> Settings | None:
    """The settings of a folder, whoever wrote them, with the doubt that there is.

    :raises OSError: the file cannot be read, is no regular file, or is too long; `filename` is its path.
    :raises ConfigError: it is no JSON object.
    """
    for parent in _inside_the_project(folder):
        path = parent / SETTINGS_FILE
        if exists(path):
            try:
                data = read_foreign(path, SMALL_BYTES)
                doubt = next(filter(None, (why_not_own(p.stat()) for p in (path, path.parent, parent))), "")
            except OSError as error:
                raise OSError(0, error.strerror or str(error), str(path)) from error
            values = _decoded(path, data)
            section = values.get(SETTINGS_SECTION)
            merged = {**values, **(section if isinstance(section, dict) else {})}
            return Settings(parent, merged, hashlib.sha256(data).hexdigest(), doubt)
    return None


def exists(path: Path) -> bool:
    """Whether there is something; a folder that may not be looked into holds nothing for us."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def project_top(folder: Path) -> Path:
    """The top of the project that a folder is in: its git root, else the folder itself."""
    *_, top = _inside_the_project(folder)
    return top


def _inside_the_project(folder: Path) -> Iterator[Path]:
    home = _home()
    upward = [folder, *folder.parents]
    if home in upward:
        upward = upward[: upward.index(home) + 1]
    top = next((at for at, parent in enumerate(upward) if exists(parent / ".git")), 0)
    yield from upward[: top + 1]


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def _decoded(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as JSON ({error}); correct it or remove it") from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"{path} should hold a JSON object, not {type(value).__name__}; correct it or remove it"
        )
    return value


def _warn(text: str) -> None:
    warnings.warn(text, UntrustedWarning, stacklevel=1)  # one place, so that one run says it once
