"""What of the user's own notes goes into the block: the day's log in short, and open scratchpad items."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from pi_rank.block.lines import Line, note_line, open_item_line
from pi_rank.block.plain import DECISION_TAG

_SESSION_END = re.compile(r"##\s+Session ended\b", re.IGNORECASE)
# PI writes this line under each marker; it says nothing that the count does not.
_SESSION_END_NOTE = "- Persistent Intelligence captured session end marker."
# A stamp that PI writes above each of its entries.
_STAMP = re.compile(r"<!--[^>]*-->")
_STRUCTURE = re.compile(r"#{1,6}\s+\S|[-*+]\s+\S|\d{1,9}[.)]\s+\S")
_OPEN_ITEM = re.compile(r"\s*[-*+]\s+\[ \]\s+(.*\S)")


class Digest(NamedTuple):
    """The day in short: how many sessions ended, and lines in the log's order.

    `keep` says what matters most: the last lines, which are the news, or the end of a text without structure.
    """

    sessions: int
    lines: tuple[Line, ...]
    keep: Literal["last", "tail"]


@lru_cache(maxsize=8)
def daily_digest(log: str) -> Digest:
    """Sessions that ended; then headings, list lines, `#decision` and `#key` lines, or else all the text."""
    stripped = (line.strip() for line in log.splitlines())
    kept = [line for line in stripped if line and not _STAMP.fullmatch(line)]
    rest = [line for line in kept if not _SESSION_END.match(line)]
    sessions = len(kept) - len(rest)
    if sessions:
        rest = [line for line in rest if line != _SESSION_END_NOTE]
    notable = [line for line in rest if _STRUCTURE.match(line) or DECISION_TAG.search(line)]
    lines = tuple(line for line in map(note_line, notable or rest) if line.text)
    return Digest(sessions, lines, "last" if notable else "tail")


@lru_cache(maxsize=8)
def open_items(scratchpad: str) -> tuple[Line, ...]:
    """The scratchpad's unticked items, in its order."""
    matches = (_OPEN_ITEM.match(line) for line in scratchpad.splitlines())
    return tuple(open_item_line(match[1]) for match in matches if match)
