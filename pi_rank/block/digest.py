"""What of the user's own notes goes into the block: the day's log in short, and open scratchpad items."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pi_rank.block.lines import Line, note_line, open_item_line

_SESSION_END = re.compile(r"##\s+Session ended\b", re.IGNORECASE)
# PI writes this line under each marker; it says nothing that the count does not.
_SESSION_END_NOTE = "- Persistent Intelligence captured session end marker."
_NOTABLE = re.compile(r"#{1,6}\s+\S|[-*+]\s+\S|\d{1,9}[.)]\s+\S|(?:.*\s)?#(?:decision|key)\b", re.IGNORECASE)
_OPEN_ITEM = re.compile(r"\s*[-*+]\s+\[ \]\s+(.*\S)")


class Digest(NamedTuple):
    """The day in short: `lines` in the log's order, of which the last ones matter most where `from_end`."""

    sessions: int
    lines: tuple[Line, ...]
    from_end: bool


@lru_cache(maxsize=8)
def daily_digest(log: str) -> Digest:
    """Sessions that ended; then headings, list lines, `#decision` and `#key` lines, or else all the text."""
    kept = [stripped for line in log.splitlines() if (stripped := line.strip())]
    rest = [line for line in kept if not _SESSION_END.match(line)]
    sessions = len(kept) - len(rest)
    if sessions:
        rest = [line for line in rest if line != _SESSION_END_NOTE]
    notable = [line for line in rest if _NOTABLE.match(line)]
    lines = tuple(line for line in map(note_line, notable or rest) if line.text)
    return Digest(sessions, lines, from_end=not notable)


@lru_cache(maxsize=8)
def open_items(scratchpad: str) -> tuple[Line, ...]:
    """The scratchpad's unticked items, in its order."""
    matches = (_OPEN_ITEM.match(line) for line in scratchpad.splitlines())
    return tuple(open_item_line(match[1]) for match in matches if match)
