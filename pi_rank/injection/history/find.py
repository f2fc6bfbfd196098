"""Where the texts of marks stand in a message, whatever a store or a framework made of its blocks since.

    places = locate(["How do we deploy?\\n\\n# Persistent …"], marks)

The one way in which anything of ours looks for an injected text: what is new, what is hidden from people,
what
is the user's own and what is taken out all start here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pi_rank.injection.history.marks import END_CHARS, Mark, end_sum, text_digest

# How often over marks may claim a text: each its own stretch, and a few that were moved.
MOST_CLAIMS = 4
BORDER = "\x1e"  # between two texts while they are searched as one
_BREAK = re.compile(r"\r+\n")  # more than one where a text was changed more than once
# What Strands' truncation leaves where it cut: "[... 1,234 chars elided ...]".
_ELIDED = re.compile(r"\[\.\.\. [\d,]+ chars elided \.\.\.\]")


class Place(NamedTuple):
    """Where a mark's text stands in one of the texts, and whether all of it is there.

    What is left of a text that somebody cut is hidden like the whole of it, but it is no longer live: the
    model cannot read what is gone.
    """

    start: int
    end: int
    mark: Mark
    intact: bool


def locate(texts: Sequence[str], marks: Sequence[Mark]) -> list[list[Place]]:
    """The places of the marks' texts, by text and in order.

    A text stands where it has the mark's digest; the last such place first, since an injected text stands at
    the end and the same words earlier in the message are the user's. A mark whose text is nowhere has no
    place.
    """
    search = _Search(texts)
    whole: dict[str, list[int]] = {}
    for index, text in enumerate(search.texts):
        whole.setdefault(text_digest(text), []).append(index)
    missing = []
    for mark in reversed(marks):
        exact = whole.get(mark.digest)
        if exact and is_whole(search.texts[exact[-1]], mark):
            search.take_text(exact.pop(), mark)
        elif mark.chars > mark.lead:
            missing.append(mark)
    for mark in [mark for mark in missing if not search.take_exact(mark)]:
        search.take_rest(mark)
    return search.places()


def is_whole(text: str, mark: Mark) -> bool:
    """Whether a text with the mark's digest is all the mark's: blank lines of others in front are not."""
    return not mark.ends or len(text) - len(text.lstrip("\n")) <= mark.lead


class _Search:
    """Texts, as one with plain newlines, while marks claim stretches of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.given = texts
        self.texts = [_BREAK.sub("\n", text) if "\r" in text else text for text in texts]
        self.plain = BORDER.join(self.texts)
        self.starts = [0]
        for text in self.texts[:-1]:
            self.starts.append(self.starts[-1] + len(text) + 1)
        self._taken: list[Place] = []  # in order
        self._room = MOST_CLAIMS * len(self.plain)
        self._digests: dict[tuple[int, int], str] = {}
        self._sums: dict[tuple[int, bool], dict[str, list[int]]] = {}

    def take_text(self, index: int, mark: Mark) -> None:
        """All of one text is the mark's."""
        start = self.starts[index]
        self._enter(Place(start, start + len(self.texts[index]), mark, True))

    def take_exact(self, mark: Mark) -> bool:
        """Claim the place where the whole text of the mark stands, if there is one."""
        size = mark.chars - mark.lead
        for at in self._candidates(mark, size):
            if 0 <= at <= len(self.plain) - size and self._is(at, size, mark.digest):
                return self._claim(at, at + size, mark, intact=True)
        return False

    def take_rest(self, mark: Mark) -> bool:
        """Claim what is left of a text that was cut: from its first characters to its last, or to the end."""
        if not mark.ends or mark.chars - mark.lead < 2 * END_CHARS:
            return False
        ends = [at + END_CHARS for at in self._where(mark.ends[8:], END_CHARS) if self._free(at, at + 1)]
        size = mark.chars - mark.lead
        found: list[tuple[bool, int, int, int]] = []
        for at in self._where(mark.ends[:8], END_CHARS, lines=True):
            if self._free(at, at + 1):
                limit = self._limit(at)
                end = max((end for end in ends if at < end <= limit), default=0)
                if _ELIDED.search(self.plain, end or at, limit):
                    end = 0  # its last characters stood in the middle too, and the end is cut
                stop = end or self._nearest_end(at + size, limit)
                found.append((end > 0, -abs(stop - at - size), at, stop))
        if found:  # of several, the one that is most like the text, then the last
            *_, at, stop = max(found)
            return self._claim(at, stop, mark)
        for end in reversed(ends):
            text = self.starts[bisect_right(self.starts, end - 1) - 1]
            gaps = [gap.end() for gap in _ELIDED.finditer(self.plain, text, end)]
            if gaps and self._free(gaps[-1], end):
                return self._claim(gaps[-1], end, mark)
        return False

    def places(self) -> list[list[Place]]:
        """What was claimed, by text, at positions of the texts as they were given."""
        found: list[list[Place]] = [[] for _ in self.texts]
        for start, end, mark, intact in self._taken:
            index = bisect_right(self.starts, start) - 1
            first = self.starts[index]
            found[index].append(Place(start - first, end - first, mark, intact))
        return [
            _moved(own, text) if "\r" in text else own for own, text in zip(found, self.given, strict=True)
        ]

    def _candidates(self, mark: Mark, size: int) -> Iterator[int]:
        """Where the text was put, where it is if the words before were edited; then wherever it begins."""
        yield mark.start + mark.lead
        yield len(self.plain) - size
        if mark.ends:
            width = min(size, END_CHARS)
            yield from reversed(self._where(mark.ends[:8], width, lines=True))
            yield from reversed(self._where(mark.ends[:8], width))

    def _is(self, at: int, size: int, digest: str) -> bool:
        if (at, size) not in self._digests:
            self._room -= size
            if self._room < 0:
                return False
            self._digests[at, size] = text_digest(self.plain[at : at + size])
        return self._digests[at, size] == digest and self._free(at, at + size)

    def _free(self, start: int, end: int) -> bool:
        after = bisect_left(self._taken, start, key=_end_of)
        while after < len(self._taken) and self._taken[after].end <= start:
            after += 1
        return after == len(self._taken) or end <= self._taken[after].start

    def _limit(self, at: int) -> int:
        """Where a stretch that begins here has to end: before the next one, and in the same text."""
        after = bisect_left(self._taken, at, key=_start_of)
        index = bisect_right(self.starts, at) - 1
        end = self.starts[index] + len(self.texts[index])
        return end if after == len(self._taken) else min(end, self._taken[after].start)

    def _nearest_end(self, expected: int, limit: int) -> int:
        """Where a text ends whose last characters were changed: with its line, if others' words follow it."""
        if limit <= expected + END_CHARS:
            return limit
        breaks = [gap.start() for gap in re.finditer("\n", self.plain[: expected + END_CHARS])]
        near = [at for at in breaks if abs(at - expected) <= END_CHARS]
        return min(near, key=lambda at: abs(at - expected)) if near else expected

    def _claim(self, start: int, end: int, mark: Mark, *, intact: bool = False) -> bool:
        """The stretch is the mark's, with the blank line that was put in front of it."""
        for _ in range(mark.lead):
            if start and self.plain[start - 1] == "\n" and self._free(start - 1, start):
                start -= 1
        self._enter(Place(start, end, mark, intact))
        return True

    def _enter(self, place: Place) -> None:
        self._taken.insert(bisect_left(self._taken, place.start, key=_start_of), place)

    def _where(self, wanted: str, width: int, *, lines: bool = False) -> list[int]:
        """Positions, of all or of those where a line begins, from which `width` characters have this sum."""
        if (width, lines) not in self._sums:
            breaks = (gap.end() for gap in re.finditer(f"[\n{BORDER}]", self.plain))
            positions: Iterable[int] = [0, *breaks] if lines else range(max(1, len(self.plain) - width + 1))
            found: dict[str, list[int]] = {}
            for at in positions:
                found.setdefault(end_sum(self.plain[at : at + width]), []).append(at)
            self._sums[width, lines] = found
        return self._sums[width, lines].get(wanted, [])


def _start_of(place: Place) -> int:
    return place.start


def _end_of(place: Place) -> int:
    return place.end


def _moved(places: list[Place], given: str) -> list[Place]:
    """Places in a text with plain newlines, at the positions that they have in the text as it was given."""
    breaks, removed = [], [0]
    for gap in _BREAK.finditer(given):
        breaks.append(gap.start() - removed[-1])
        removed.append(removed[-1] + gap.end() - gap.start() - 1)

    def back(at: int) -> int:
        return at + removed[bisect_left(breaks, at)]

    return [Place(back(p.start), back(p.end), p.mark, p.intact) for p in places]
