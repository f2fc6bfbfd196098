"""Which records' lines a section shows: what does not fit is skipped, what is long is shortened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pi_rank.block.budget import CUT, byte_length, more_line
from pi_rank.block.graphemes import is_boundary, prefix_within
from pi_rank.block.lines import Line
from pi_rank.block.passage import passage_start

WHOLE_BYTES = (
    800  # a record up to this length is shown whole or not at all: half a rule may say another thing
)
LEAST_BYTES = 480  # of a record that is shortened
SHORTENED = f"{CUT} [shortened]"


class Chosen(NamedTuple):
    """Text of whole lines, each with its newline; its bytes; and which of the given lines it shows."""

    text: str
    size: int
    shown: tuple[int, ...]


def choose_lines(lines: Sequence[Line], budget: int, query: str) -> Chosen:
    """The lines that fit into `budget` bytes, in order, and a mark for the others.

    Where not all fit, a long line is shortened to the passage that has most to do with `query`, so that as
    many as can be have a share; what then has no room is passed over, and a later line may still fit.
    """
    texts = [f"{label}{text}\n" for label, text in lines]
    sizes = [byte_length(text) for text in texts]
    if sum(sizes) <= budget:
        return Chosen("".join(texts), sum(sizes), tuple(range(len(lines))))
    left = budget - (byte_length(more_line(len(lines))) if len(lines) > 1 else 0)
    room, longest = left, _share(sizes, left)
    chosen: list[str] = []
    shown: list[int] = []
    for index, (line, text, size) in enumerate(zip(lines, texts, sizes, strict=True)):
        if size > room or size > max(longest, WHOLE_BYTES):
            given = min(longest, left)
            # A scrap at the end says less than the count of what is left out; alone, it says more.
            text = shorten_to_passage(line, given - 1, query) if given >= LEAST_BYTES or not shown else ""
            size = byte_length(text)
        if text and size <= left:
            chosen.append(text)
            shown.append(index)
            left -= size
    if shown and len(shown) < len(lines):
        chosen.append(more_line(len(lines) - len(shown)))
    written = "".join(chosen)
    return Chosen(written, byte_length(written), tuple(shown))


def _share(sizes: Sequence[int], room: int) -> int:
    """The most bytes of a line, so that all have a share of `room`; LEAST_BYTES where that is less."""
    left = room
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return min(room, max(share, LEAST_BYTES))
        left -= size
    return room


def shorten_to_passage(line: Line, max_bytes: int, query: str) -> str:
    """`line` with a newline, its text cut to a passage of `max_bytes` in all before it, and marked as cut.

    Empty where not one character of its text fits.
    """
    room = max_bytes - byte_length(line.label) - byte_length(SHORTENED) - byte_length(CUT)
    if room <= 0:
        return ""
    ratio = len(line.text) / max(1, byte_length(line.text))
    start = passage_start(line.text, query, int(room * ratio))
    # The last passage reaches the end: nothing is gained by showing less.
    start = min(start, max(0, len(line.text) - int(room * ratio)))
    while not is_boundary(line.text, start):
        start -= 1
    kept = prefix_within(line.text[start:], room)
    if not kept:
        return ""
    return f"{line.label}{CUT if start else ''}{kept}{SHORTENED}\n"
