"""Walks a collection's folder: which files belong to it, and what could not be looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pi_rank.qmd.index.patterns import matcher

IGNORED_FOLDERS = frozenset({"node_modules", "vendor", "dist", "build"})  # .git and .cache begin with a dot


class ScannedFile(NamedTuple):
    """A file of the collection: its path from the root with forward slashes, its size and its time."""

    path: str
    size: int
    mtime_ns: int


class Scan(NamedTuple):
    """What a walk found. What lies in `unreadable` (paths from the root) is unknown, which is not nothing."""

    files: list[ScannedFile]
    unreadable: list[str]
    warnings: list[str]


def scan(root: Path, pattern: str) -> Scan:
    """The files below `root` that match `pattern`, a glob or several with commas between them.

    Dot files, `IGNORED_FOLDERS`, empty files, links to folders (their files are found where they are), links
    that lead out of the root, and links to what is left out are left out.

    :raises PatternError: nothing can be matched with the pattern.
    """
    result = Scan([], [], [])
    matches = matcher(pattern)
    resolved = os.path.realpath(root)
    _walk(root, resolved, matches, result)
    result.files.sort()
    return result


def _walk(root: Path, resolved: str, matches: Callable[[str], bool], result: Scan) -> None:
    """Folder by folder, however deep they lie in each other."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for entry in _entries(root, prefix, result):
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in IGNORED_FOLDERS:
                    waiting.append(path)
            elif matches(path):
                result.files.extend(_file(entry, path, resolved, result))


def _entries(root: Path, prefix: str, result: Scan) -> list[os.DirEntry[str]]:
    folder = os.path.join(root, prefix)  # noqa: PTH118  (once a folder, and Path would fold ".." away)
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if (
            not isinstance(error, FileNotFoundError) or not prefix
        ):  # gone since its parent was read: not there
            result.unreadable.append(prefix)
            result.warnings.append(f"{prefix or folder}: cannot be read ({error.strerror})")
        return []


def _file(entry: os.DirEntry[str], path: str, root: str, result: Scan) -> Iterator[ScannedFile]:
    try:
        path.encode()
    except UnicodeEncodeError:
        result.warnings.append(f"{path!a}: the name is not Unicode; rename the file")
        return
    try:
        if entry.is_symlink() and not _may_be_followed(os.path.realpath(entry.path), root):
            return
        if not entry.is_file():
            return
        status = entry.stat()
    except FileNotFoundError:
        return  # removed since the folder was read
    except OSError as error:
        result.unreadable.append(path)
        result.warnings.append(f"{path}: cannot be read ({error.strerror})")
        return
    if status.st_size:
        yield ScannedFile(path, status.st_size, status.st_mtime_ns)


def _may_be_followed(target: str, root: str) -> bool:
    """Whether a link's target is one that the walk itself could have come to."""
    top = root.rstrip(os.sep) + os.sep
    if not target.startswith(top):
        return False
    inside = Path(target.removeprefix(top))
    hidden = any(part.startswith(".") for part in inside.parts)
    return not hidden and IGNORED_FOLDERS.isdisjoint(inside.parts[:-1])
