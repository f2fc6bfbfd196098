"""How results reach people and programs: JSON, tables and notes; colour only where a terminal shows it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from pi_rank import characters

ELLIPSIS = "…"
GAP = "  "  # between two columns of a table
LEAST_FOLDED = 20  # columns; where less is left for the last one, the terminal may break its lines itself


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream shows colours and bars: a terminal, and nobody asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: Any) -> None:  # noqa: ANN401
    """One JSON value on stdout, readable by people, in UTF-8; a lone surrogate is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    print(text.encode("utf-8", "backslashreplace").decode())


def note(text: str) -> None:
    """One line for the person at the terminal, on stderr."""
    print(f"pi-rank: {one_line(text)}", file=sys.stderr)


def one_line(text: str, width: int | None = None) -> str:
    """The text on one line, cut at `width` columns.

    A memory file may hold escape sequences; none of them may reach the terminal.
    """
    clean = characters.one_line(text)
    return clean if width is None or columns(clean) <= width else _cut(clean, width - 1) + ELLIPSIS


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: two for a wide character, none for a combining one."""
    return sum(_width(c) for c in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _width(character)
        if taken > width:
            return text[:index]
    return text


def heading(text: str) -> None:
    """A line that opens a part of the output on stdout."""
    if is_terminal(sys.stdout):
        rule = "─" * max(0, shutil.get_terminal_size().columns - columns(text) - 1)
        print(f"{_bold(text)} {rule}")
    else:
        print(f"==== {text} ====")


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout, aligned by spaces. A cell is one line; on a terminal the last column is folded."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    lines = [list(titles), *cells]
    widths = [max(columns(line[i]) for line in lines) for i in range(len(titles))]
    drawn = is_terminal(sys.stdout)
    indent = sum(width + len(GAP) for width in widths[:-1])
    room = shutil.get_terminal_size().columns - indent if drawn else 0
    for line in lines:
        begin = "".join(_padded(cell, width) + GAP for cell, width in zip(line[:-1], widths, strict=False))
        first, *rest = folded(line[-1], room) if room >= LEAST_FOLDED else [line[-1]]
        text = f"{begin}{first}".rstrip()
        print(_bold(text) if drawn and line is lines[0] else text)
        for part in rest:
            print(" " * indent + part)


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, cut between words, inside one that is longer itself."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(joined) <= width:
            lines[-1] = joined
            continue
        if not lines[-1]:
            lines.pop()
        while columns(word) > width:
            begin = _cut(word, width) or word[0]
            lines.append(begin)
            word = word[len(begin) :]
        lines.append(word)
    return lines


def _bold(text: str) -> str:
    # Windows' older console shows escape sequences as they are.
    return text if sys.platform == "win32" and "WT_SESSION" not in os.environ else f"\x1b[1m{text}\x1b[0m"


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - columns(cell))
