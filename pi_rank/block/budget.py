"""Which lines fit into how many bytes of UTF-8, and how what does not fit is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pi_rank.block.graphemes import prefix_within, suffix_within
from pi_rank.block.lines import Line

Keep = Literal["first", "last", "tail"]
CUT = "…"
SHARED_ROOM = 1_000
"""Bytes from which a section has room for others beside a line that would fill it alone."""

_CUT_BYTES = len(CUT.encode())


class Fitted(NamedTuple):
    """Text of whole lines, each with its newline; its bytes; and how many of the given lines it shows."""

    text: str
    size: int
    shown: int


def byte_length(text: str) -> int:
    """Length of `text` in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def more_line(count: int) -> str:
    """The line that says what was cut, with its newline."""
    return f"{CUT} {count} more not shown\n"


def fit_lines(lines: Sequence[Line], budget: int, *, keep: Keep = "first") -> Fitted:
    """The lines that fit into `budget` bytes, and a mark for the others.

    Lines stay whole, except one too long for the whole budget: it is cut inside, between characters and after
    its label, and gets half of the budget where other lines wait and there is room to share.

    :param keep: "first" or "last" lines; "tail": the last, and of one that is cut its end.
    """
    texts = [f"{label}{text}\n" for label, text in lines]
    whole = "".join(texts)
    size = byte_length(whole)
    if size <= budget:
        return Fitted(whole, size, len(lines))
    return _fit_some(lines, texts, budget, keep)


def _fit_some(lines: Sequence[Line], texts: list[str], budget: int, keep: Keep) -> Fitted:
    total = len(lines)
    room = budget - (byte_length(more_line(total)) if total > 1 else 0)
    longest = room if total == 1 or room < SHARED_ROOM else room // 2
    left, shown = room, []
    for index in range(total) if keep == "first" else reversed(range(total)):
        text = texts[index]
        if byte_length(text) > room:
            text = shorten(lines[index], min(longest, left) - 1, from_end=keep == "tail")
        if not text or byte_length(text) > left:
            break
        shown.append(text)
        left -= byte_length(text)
    return _with_mark(shown, total, backwards=keep != "first")


def _with_mark(shown: list[str], total: int, *, backwards: bool) -> Fitted:
    count = len(shown)
    if 0 < count < total:
        shown.append(more_line(total - count))
    text = "".join(reversed(shown) if backwards else shown)
    return Fitted(text, byte_length(text), count)


def shorten(line: Line, max_bytes: int, *, from_end: bool = False) -> str:
    """`line` with a newline, cut to `max_bytes` before it; empty where not one character of its text fits."""
    room = max_bytes - byte_length(line.label) - _CUT_BYTES
    if from_end:
        kept = suffix_within(line.text, room)
        return f"{line.label}{CUT}{kept}\n" if kept else ""
    kept = prefix_within(line.text, room)
    return f"{line.label}{kept}{CUT}\n" if kept else ""
