"""Walks a collection's folder: which files belong to it, and what could not be looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

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

    Dot files, `IGNORED_FOLDERS`, empty files, links to folders (their files are found where they are) and
    links that lead out of the root are left out.
    """
    result = Scan([], [], [])
    matches = matcher(pattern)
    resolved = os.path.realpath(root)
    _walk(str(root), "", resolved, matches, result)
    result.files.sort()
    return result


def _walk(folder: str, prefix: str, root: str, matches: Callable[[str], bool], result: Scan) -> None:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        if (
            not isinstance(error, FileNotFoundError) or not prefix
        ):  # gone since its parent was read: not there
            result.unreadable.append(prefix)
            result.warnings.append(f"{prefix or folder}: cannot be read ({error.strerror})")
        return
    for entry in found:
        if entry.name.startswith("."):
            continue
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in IGNORED_FOLDERS:
                _walk(entry.path, path, root, matches, result)
        elif matches(path):
            result.files.extend(_file(entry, path, root, result))


def _file(entry: os.DirEntry[str], path: str, root: str, result: Scan) -> Iterator[ScannedFile]:
    try:
        path.encode()
    except UnicodeEncodeError:
        result.warnings.append(f"{path!a}: the name is not Unicode; rename the file")
        return
    try:
        if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), root):
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


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches one of the globs.

    `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[ab]` are alternatives.
    """
    globs = [glob for glob in (part.strip() for part in _split(pattern)) if glob]
    expression = re.compile(
        "|".join(f"(?:{_translate(glob.removeprefix('./'))})" for glob in globs) or "(?!)"
    )
    return lambda path: expression.fullmatch(path) is not None


def _split(pattern: str) -> list[str]:
    """The pattern at its commas, those inside braces excepted."""
    parts, depth = [""], 0
    for character in pattern:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def _translate(glob: str) -> str:
    return "".join(_translate_token(token) for token in _TOKEN.findall(glob))


def _translate_token(token: str) -> str:
    simple = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if token in simple:
        return simple[token]
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1].replace("\\", r"\\").replace("^", r"\^").replace("[", r"\[")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    if token.startswith("{") and len(token) > 1:
        return "(?:" + "|".join(_translate(option) for option in token[1:-1].split(",")) + ")"
    return re.escape(token)
