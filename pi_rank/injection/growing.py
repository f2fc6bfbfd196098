"""Sections that grow, as a log or a list of open items does: their news are their new lines."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from pi_rank.block.budget import CUT
from pi_rank.injection.history.live import LiveSection
from pi_rank.injection.history.marks import text_digest

LINE_DIGEST_CHARS = 8
ADDED = " — new lines"
GONE = " — no longer holds"
REPLACED = " — replaces the earlier one"
# A section's name and digests of lines → the lines themselves, of those that the conversation still holds.
LineLookup = Callable[[str, Collection[str]], list[str]]


class SectionNews(msgspec.Struct, frozen=True):
    """What to write of a section, and the digests that tell the next turn what was written.

    `continued` says that the lines written before still hold, but for those in `gone`.
    """

    name: str
    digest: str
    written: list[str]
    lines: tuple[str, ...]
    gone: tuple[str, ...] = ()
    continued: bool = False


def section_news(
    heading: str, lines: list[str], live: LiveSection | None, line_texts: LineLookup | None = None
) -> SectionNews | None:
    """The new lines of a section and the ones that it no longer has; None when all of it is known.

    What was cut to fit ("… 3 more not shown") is no line, and what it hides is not gone. Where naming the
    changes takes more than the section itself, it is written whole and says that it replaces the earlier one.
    """
    name = heading.removeprefix("## ")
    whole = text_digest("\n".join([heading, *lines]))[:LINE_DIGEST_CHARS]
    if live is not None and live.digest == whole and not live.lines:
        return None
    shown = {line_digest(line): line for line in lines if line.strip() and not line.startswith(CUT)}
    if live is None or not live.lines:
        emptied = live is None or live.digest == text_digest(heading)[:LINE_DIGEST_CHARS]
        note = "" if emptied else REPLACED
        return SectionNews(name, whole, [heading + note, *lines], tuple(shown))
    known = set(live.lines)
    added = [line for digest, line in shown.items() if digest not in known]
    gone = _gone(live.lines, shown, lines)
    names = line_texts(name, gone) if gone and line_texts is not None else []
    written = [heading + ADDED, *added] if added else []
    written += [heading + GONE, *names] if gone else []
    if lines and (len(names) < len(gone) or _size(written) > _size([heading + REPLACED, *lines])):
        return SectionNews(name, whole, [heading + REPLACED, *lines], tuple(shown))
    if not written or (gone and not names):
        return None
    return SectionNews(name, whole, written, tuple(map(line_digest, added)), gone, continued=True)


def line_digest(line: str) -> str:
    """What tells a line from the others of its section."""
    return text_digest(line.rstrip())[:LINE_DIGEST_CHARS]


def _gone(known: tuple[str, ...], shown: dict[str, str], lines: list[str]) -> tuple[str, ...]:
    """Known lines that the section no longer has, those left out that it may only have no room for."""
    missing = [digest not in shown for digest in known]
    first, last = 0, len(known)
    if False in missing:
        if any(line.startswith(CUT) for line in lines[:1]):
            first = missing.index(False)
        if any(line.startswith(CUT) for line in lines[-1:]):
            last = len(missing) - missing[::-1].index(False)
    elif any(line.startswith(CUT) for line in lines):
        return ()
    return tuple(digest for digest, lost in list(zip(known, missing, strict=True))[first:last] if lost)


def _size(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)
