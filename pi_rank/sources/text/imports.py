"""`@path` in CLAUDE.md and GEMINI.md: which other files a text takes in.

Formats: https://code.claude.com/docs/en/memory (imports are relative to the file, at most five hops, and none
in code), https://geminicli.com/docs/reference/memport
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOST_HOPS = 5
MOST_PARTS = 32
_IMPORT = re.compile(r"(?:^|(?<=\s))@([^\s`]+)")
_CODE = re.compile(r"`[^`]*`")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
# A text may name a program's file, a person or a package in the same way; only texts are taken in.
_TEXTS = frozenset(("", ".md", ".mdc", ".markdown", ".txt"))


class Import(NamedTuple):
    """An import: its line, the target as written, and the file; None where it lies outside of the folder."""

    line: int
    target: str
    path: Path | None


def read_imports(lines: list[str], file: Path, folder: Path) -> Iterator[Import]:
    """What a file's lines take in, in order.

    :param file: the file, links resolved. :param folder: nothing outside of it is followed.
    """
    for number, target in _targets(lines):
        written = target.rstrip(".,;:!?)]}'\"")
        if Path(written).suffix.casefold() not in _TEXTS or not _may_be_a_path(written):
            continue
        path = _resolved(written, file)
        if path is not None and path.is_relative_to(folder):
            if (
                path.suffix or path.is_file()
            ):  # a name without a suffix is a word, unless there is such a file
                yield Import(number, written, path)
        elif Path(written).suffix or written.startswith(("~", "/", "..", "\\")):
            yield Import(number, written, None)


def without_imports(lines: list[str]) -> list[str]:
    """The lines, with those that are nothing but an import blanked."""
    return ["" if line.strip().startswith("@") and len(line.split()) == 1 else line for line in lines]


def _targets(lines: list[str]) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and "@" in line:
            for found in _IMPORT.finditer(_CODE.sub("", line)):
                yield number, found[1]


def _may_be_a_path(written: str) -> bool:
    parts = written.replace("\\", "/").split("/")
    return len(parts) <= MOST_PARTS and all(len(part.encode("utf-8", "replace")) <= 255 for part in parts)


def _resolved(written: str, file: Path) -> Path | None:
    try:
        return Path(os.path.realpath(file.parent / Path(written).expanduser()))
    except (OSError, RuntimeError, ValueError):  # a NUL, a loop of links, nobody's home
        return None
