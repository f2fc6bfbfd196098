"""How results reach people and programs: JSON, tables and notes; colour only where a terminal shows it."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

ELLIPSIS = "…"


def is_terminal(stream: TextIO) -> bool:
    """Whether rich may draw on the stream: a terminal, and nobody asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: Any) -> None:  # noqa: ANN401
    """One JSON value on stdout, readable by people, in UTF-8; a lone surrogate is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    print(text.encode("utf-8", "backslashreplace").decode())


def note(text: str) -> None:
    """One line for the person at the terminal, on stderr."""
    print(f"pi-rank: {one_line(text)}", file=sys.stderr)


def one_line(text: str, width: int | None = None) -> str:
    """The text with each run of control, format and white space as one space, cut at `width` columns."""
    clean = "".join(" " if unicodedata.category(c) in _UNPRINTABLE else c for c in text)
    clean = " ".join(clean.split())
    return clean if width is None or columns(clean) <= width else _cut(clean, width - 1) + ELLIPSIS


# A memory file may hold escape sequences; none of them may reach the terminal.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


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
        from rich.console import Console
        from rich.text import Text

        Console().rule(Text(text, style="bold"), align="left", style="dim")
    else:
        print(f"==== {text} ====")


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout: drawn by rich on a terminal, aligned by spaces elsewhere. A cell is one line."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        _draw(titles, cells)
        return
    lines = [list(titles), *cells]
    widths = [max(columns(line[i]) for line in lines) for i in range(len(titles))]
    for line in lines:
        padded = (cell + " " * (width - columns(cell)) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _draw(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
