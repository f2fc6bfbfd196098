"""Which project a directory belongs to, from its settings, git and package files; starts no process."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi_rank.errors import ConfigError, ContextError

ProjectSource = Literal["settings", "git-remote", "git-root", "package", "folder"]
# PI keeps its settings under its own name; the bare key is read too.
SETTINGS_SECTION = "pi-persistent-intelligence"
_REMOTE_ORIGIN = re.compile(r'^\[\s*remote\s+"origin"\s*\]', re.IGNORECASE)
_URL = re.compile(r"^url\s*=\s*(.*)$", re.IGNORECASE)


class Project(msgspec.Struct, frozen=True):
    """A project: its stable id, where that came from, its top folder, and the name that people use for it."""

    id: str
    source: ProjectSource
    root: Path
    name: str


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
    slug of the package name (package.json or pyproject.toml); the slug of the folder's name.

    :raises ContextError: the path cannot be a path.
    :raises ConfigError: the settings file is not JSON, so that the project cannot be known.
    """
    folder = _absolute(directory)
    git_root = next((parent for parent in _upward(folder) if _exists(parent / ".git")), None)
    package = _find_package(folder, git_root)
    root = git_root or (package[0] if package else folder)
    name = package[1] if package else root.name
    project_id, source = _identify(folder, git_root, package[1] if package else None)
    return Project(project_id, source, root, name)


def read_settings(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """PI's settings in the nearest `.pi/settings.json`, up to the git root, and the folder they are of.

    :raises ConfigError: the file is there but is not a JSON object.
    """
    for parent in _upward(folder):
        path = parent / ".pi" / "settings.json"
        if _exists(path):
            settings = _read_json(path)
            section = settings.get(SETTINGS_SECTION)
            return parent, {**settings, **(section if isinstance(section, dict) else {})}
        if _exists(parent / ".git"):
            return None
    return None


def _identify(folder: Path, git_root: Path | None, package: str | None) -> tuple[str, ProjectSource]:
    explicit = _explicit_identity(folder)
    if explicit:
        return explicit, "settings"
    if git_root is not None:
        url = _origin_url(git_root)
        return (f"git-{_hash(url)}", "git-remote") if url else (f"gitroot-{_hash(str(git_root))}", "git-root")
    if package and slug(package):
        return slug(package), "package"
    return slug(folder.name) or f"folder-{_hash(str(folder))}", "folder"


def _explicit_identity(folder: Path) -> str:
    """The slug of `projectIdentity`, an id or an object with `project_id`; empty if there is none."""
    found = read_settings(folder)
    identity = found[1].get("projectIdentity") if found else None
    if isinstance(identity, dict):
        identity = identity.get("project_id")
    return slug(identity) if isinstance(identity, str) else ""


def _find_package(folder: Path, git_root: Path | None) -> tuple[Path, str] | None:
    """The nearest folder with a package file, and its name; not past the git root, nor in the home folder."""
    home = _absolute("~")
    for parent in _upward(folder):
        if parent == home and parent != folder:
            return None
        if _exists(parent / "package.json"):
            return parent, _package_json_name(parent / "package.json") or parent.name
        if _exists(parent / "pyproject.toml"):
            return parent, _pyproject_name(parent / "pyproject.toml") or parent.name
        if parent == git_root:
            return None
    return None


def _package_json_name(path: Path) -> str:
    try:
        name = json.loads(path.read_bytes()).get("name")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""  # a package file that its own tools cannot read names nothing; the folder does
    return name.strip() if isinstance(name, str) else ""


def _pyproject_name(path: Path) -> str:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        name = document.get("project", {}).get("name") or document["tool"]["poetry"]["name"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return name.strip() if isinstance(name, str) else ""


def _origin_url(git_root: Path) -> str:
    """The URL of remote `origin` as .git/config writes it; empty where there is none."""
    try:
        lines = (_git_directory(git_root / ".git") / "config").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    in_origin = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            in_origin = _REMOTE_ORIGIN.match(line) is not None
        elif in_origin and (url := _URL.match(line)):
            return url[1].strip().strip('"')
    return ""


def _git_directory(dot_git: Path) -> Path:
    """The folder of the repository's config: `.git` itself, or what a worktree's `.git` file leads to."""
    if not dot_git.is_file():
        return dot_git
    target = dot_git.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
    git_directory = dot_git.parent / target
    common = git_directory / "commondir"
    return git_directory / common.read_text("utf-8", "replace").strip() if common.is_file() else git_directory


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as JSON ({error}); correct it or remove it") from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"{path} should hold a JSON object, not {type(value).__name__}; correct it or remove it"
        )
    return value


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


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be looked into holds nothing for us
        return False


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
