"""Which project a directory belongs to, from its settings, git and package files; starts no process."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from pi_rank.errors import ContextError
from pi_rank.files.foreign import SMALL_BYTES, read_foreign
from pi_rank.memory.pi_identity import pi_project_id, short_hash
from pi_rank.memory.settings import SETTINGS_SECTION, Settings, exists, read_settings

ProjectSource = Literal["settings", "git-remote", "git-root", "package", "folder"]
MOST_NAME = 256  # characters of a package's name; npm takes 214
_REMOTE_ORIGIN = re.compile(r'^\[\s*remote\s+"origin"\s*\]', re.IGNORECASE)
_URL = re.compile(r"^url\s*=\s*(.*)$", re.IGNORECASE)


class Project(msgspec.Struct, frozen=True):
    """A project: its stable id, where that came from, its top folder, and the name that people use for it.

    `pi_id` is the id that PI gives it: another one in a git worktree, and for a name in another script.
    """

    id: str
    source: ProjectSource
    root: Path
    name: str
    pi_id: str


@lru_cache(maxsize=4_096)
def slug(text: str) -> str:
    """The text as a key for comparing names: NFKC, case folded, runs of letters and digits joined by `-`.

    Letters of every script count, with their combining marks, so 项目 stays as it is. A name of nothing but
    symbols (an emoji) is those symbols; one of punctuation only is empty, and equals no project.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = "".join(char if char.isalnum() or _is_mark(char) else " " for char in folded).split()
    return "-".join(words) or "".join(char for char in folded if unicodedata.category(char) == "So")


def resolve_project(directory: str | Path) -> Project:
    """The project that a working directory belongs to; it need not exist.

    The id is, first that applies: the slug of `projectIdentity` in `.pi/settings.json`; `git-` and the
    first 16 hex digits of SHA-256 of the origin URL; `gitroot-` and as many of the git root's path; the
    slug of the package name (package.json or pyproject.toml); the slug of the folder's name. A git worktree
    is its repository's.

    :raises ContextError: the path cannot be a path.
    :raises ConfigError: the settings file is not JSON, so that the project cannot be known.
    """
    folder = _absolute(directory)
    git_root = next((parent for parent in _upward(folder) if _believed(parent / ".git", folder)), None)
    package = _find_package(folder, git_root)
    root = git_root or (package[0] if package else folder)
    name = package[1] if package else _repository(git_root or root).name.removesuffix(".git")
    settings = read_settings(folder)
    project_id, source = _identify(folder, settings, git_root, package[1] if package else None)
    return Project(project_id, source, root, name, _pi_id(folder, settings, git_root))


def _identify(
    folder: Path, settings: Settings | None, git_root: Path | None, package: str | None
) -> tuple[str, ProjectSource]:
    explicit = _explicit_identity(settings)
    if explicit:
        return explicit, "settings"
    if git_root is not None:
        url = _origin_url(git_root)
        if url:
            return f"git-{short_hash(url)}", "git-remote"
        return f"gitroot-{short_hash(str(_repository(git_root)))}", "git-root"
    if package and slug(package):
        return slug(package), "package"
    return slug(folder.name) or f"folder-{short_hash(str(folder))}", "folder"


def _pi_id(folder: Path, settings: Settings | None, git_root: Path | None) -> str:
    own = settings if settings and settings.folder == folder else None
    section = own.values.get(SETTINGS_SECTION) if own else None
    identity = section.get("projectIdentity") if isinstance(section, dict) else None
    settings_id = identity.get("project_id") if isinstance(identity, dict) else None
    package = next((parent for parent in _upward(folder) if _believed(parent / "package.json", folder)), None)
    return pi_project_id(
        folder,
        settings_id=settings_id if isinstance(settings_id, str) else "",
        git_root=git_root,
        origin_url=_origin_url(git_root) if git_root and (git_root / ".git").is_dir() else "",
        package=(_package_json_name(package / "package.json") or package.name) if package else None,
    )


def _explicit_identity(settings: Settings | None) -> str:
    """The slug of `projectIdentity`, an id or an object with `project_id`; empty if there is none."""
    identity = settings.values.get("projectIdentity") if settings else None
    if isinstance(identity, dict):
        identity = identity.get("project_id")
    return slug(identity) if isinstance(identity, str) else ""


def _find_package(folder: Path, git_root: Path | None) -> tuple[Path, str] | None:
    """The nearest folder with a package file, and its name; not past the git root, nor in the home folder."""
    home = _absolute("~")
    for parent in _upward(folder):
        if parent == home and parent != folder:
            return None
        if _believed(parent / "package.json", folder):
            return parent, _package_json_name(parent / "package.json") or parent.name
        if _believed(parent / "pyproject.toml", folder):
            return parent, _pyproject_name(parent / "pyproject.toml") or parent.name
        if parent == git_root:
            return None
    return None


def _package_json_name(path: Path) -> str:
    try:
        name = json.loads(read_foreign(path, SMALL_BYTES)).get("name")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""  # a package file that its own tools cannot read names nothing; the folder does
    return _name(name)


def _pyproject_name(path: Path) -> str:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(read_foreign(path, SMALL_BYTES).decode())
        name = document.get("project", {}).get("name") or document["tool"]["poetry"]["name"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return _name(name)


def _name(value: object) -> str:
    name = value.strip() if isinstance(value, str) else ""
    return name if len(name) <= MOST_NAME else ""


def _origin_url(git_root: Path) -> str:
    """The URL of remote `origin` as .git/config writes it; empty where there is none."""
    try:
        directory, common = _git_directories(git_root / ".git")
        lines = _text((common or directory) / "config").splitlines()
    except (OSError, ValueError):  # a path that cannot be one leads nowhere
        return ""
    in_origin = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            in_origin = _REMOTE_ORIGIN.match(line) is not None
        elif in_origin and (url := _URL.match(line)):
            return url[1].strip().strip('"')
    return ""


def _repository(git_root: Path) -> Path:
    """The top folder of the repository that a git root belongs to: in a worktree another one."""
    try:
        _, common = _git_directories(git_root / ".git")
    except (OSError, ValueError):
        return git_root
    if common is None:
        return git_root
    common = common.resolve()
    return common.parent if common.name == ".git" else common


def _git_directories(dot_git: Path) -> tuple[Path, Path | None]:
    """The git folder that `.git` is or leads to, and that of the repository where it is a worktree's.

    :raises OSError, ValueError: a file on the way cannot be read.
    """
    if not dot_git.is_file():
        return dot_git, None
    target = _text(dot_git).partition("gitdir:")[2].strip()
    directory = dot_git.parent / target
    common = directory / "commondir"
    if not common.is_file():
        return directory, None
    return directory, directory / _text(common).strip()


def _text(path: Path) -> str:
    return read_foreign(path, SMALL_BYTES).decode("utf-8", "replace")


def _absolute(directory: str | Path) -> Path:
    try:
        return Path(directory).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a NUL, a loop of links, or no home folder
        raise ContextError(
            f"the working directory {str(directory)!r} is not a usable path: {error}"
        ) from error


def _upward(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _believed(path: Path, folder: Path) -> bool:
    """Whether there is something at `path` that may say which project `folder` belongs to.

    In the folder itself anything may. Above it, what another user put there may not: where many share a
    folder, he would name everybody's projects.
    """
    if not exists(path):
        return False
    if path.parent == folder or os.name != "posix":
        return True
    try:
        owners = {os.geteuid(), 0, _nearest(folder).stat().st_uid}
        return path.stat().st_uid in owners
    except OSError:
        return False


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((parent for parent in _upward(folder) if exists(parent)), folder)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"
