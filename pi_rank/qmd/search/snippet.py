"""The lines of a document that answer a query, as qmd shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LINES = 4
JSON_CHARACTERS = 300
TEXT_CHARACTERS = 500


class Snippet(NamedTuple):
    """`line`: the best line, from 1.

    `text`: a header that places the lines in the document, and the lines.
    """

    line: int
    text: str


def extract(body: str, words: Sequence[str], limit: int, within: tuple[int, int] | None = None) -> Snippet:
    """The line with the most of `words` (the first of equals), the one before it, and two after it.

    :param words: looked for anywhere in a line, in any case.
    :param limit: characters of the lines together; what is cut off ends with "...".
    :param within: characters of the body among whose lines the best one is.
    """
    lines = body.split("\n")
    first, last = (0, len(lines)) if within is None else _line_range(body, within)
    best = _best_line(lines, first, last, words)
    start = max(0, best - 1)
    shown = lines[start : best + LINES - 1]
    text = "\n".join(shown)
    if len(text) > limit:
        text = f"{text[: limit - 3]}..."
    after = len(lines) - start - len(shown)
    return Snippet(best + 1, f"@@ -{start + 1},{len(shown)} @@ ({start} before, {after} after)\n{text}")


def numbered(text: str, first: int = 1) -> str:
    """The text with each line's number before it."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first))


def _line_range(body: str, within: tuple[int, int]) -> tuple[int, int]:
    start, end = within
    return body.count("\n", 0, start), body.count("\n", 0, max(start, end - 1)) + 1


def _best_line(lines: list[str], first: int, last: int, words: Sequence[str]) -> int:
    folded = [word.lower() for word in words]
    # Where no word is found (a search by meaning), the first line that says something.
    best = next(
        (number for number in range(first, last) if number < len(lines) and lines[number].strip()), first
    )
    most = 0
    for number in range(first, min(last, len(lines))):
        line = lines[number].lower()
        found = sum(word in line for word in folded)
        if found > most:
            best, most = number, found
    return best
