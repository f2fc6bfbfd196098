"""A page of sections under one byte budget: later sections give way first, what is left out is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from pi_rank.block.budget import Keep, byte_length, fit_lines, more_line
from pi_rank.block.choose import choose_lines
from pi_rank.block.lines import Line
from pi_rank.errors import ConfigError

Shown = TypeVar("Shown")

TITLE = "# Persistent Intelligence Context\n"


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A finished block and what it shows.

    `hard_rules`, `selected` and `contested` are the ids of the records whose lines are in `markdown`, in its
    order. `omitted` counts, per section, the lines that had no room. `bytes` is the length in UTF-8.
    """

    markdown: str = ""
    hard_rules: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    contested: tuple[str, ...] = ()
    omitted: dict[str, int] = {}
    bytes: int = 0


class Page:
    """Sections in the order they are added, within `max_bytes` bytes of UTF-8 in all.

    `offered` counts the lines that were to be shown, `unsaid` those of sections left out whole: the line that
    says so at the end comes on top of `max_bytes` (see `fill_page`).
    """

    def __init__(self, max_bytes: int) -> None:
        self.omitted: dict[str, int] = {}
        self.unsaid = 0
        self.offered = 0
        self._texts = [TITLE]
        self._left = max_bytes - byte_length(TITLE)

    def add(
        self,
        name: str,
        heading: str,
        lines: Sequence[Line],
        *,
        cap: int | None = None,
        preface: str = "",
        keep: Keep = "first",
    ) -> int:
        """Write `## heading`, the preface and the lines that fit; return how many of the lines are shown.

        `cap` bounds the section in bytes, heading and preface included, the blank line above it not. A
        section without lines is left out. One that meets the end of the page is the last: the lines of those
        after it, and its own where not one is shown, are `unsaid`.
        """
        if not lines:
            return 0
        head = f"## {heading}\n{preface}"
        fitted = fit_lines(lines, self._within(cap) - byte_length(head), keep=keep)
        self._write(name, head, fitted.text, len(lines), fitted.shown, cap)
        return fitted.shown

    def add_chosen(
        self, name: str, heading: str, lines: Sequence[Line], *, cap: int, query: str
    ) -> tuple[int, ...]:
        """As `add`, of the lines that `choose_lines` chooses; return which of the lines are shown."""
        if not lines:
            return ()
        head = f"## {heading}\n"
        chosen = choose_lines(lines, self._within(cap) - byte_length(head), query)
        self._write(name, head, chosen.text, len(lines), len(chosen.shown), cap)
        return chosen.shown

    def _within(self, cap: int | None) -> int:
        room = self._left - 1
        return room if cap is None else min(cap, room)

    def _write(self, name: str, head: str, text: str, offered: int, shown: int, cap: int | None) -> None:
        self.offered += offered
        if shown < offered:
            self.omitted[name] = offered - shown
            if self._within(cap) == self._left - 1:
                self._left = 0
        if shown == 0:
            self.unsaid += offered
            return
        self._texts += ("\n", head, text)
        self._left -= 1 + byte_length(head) + byte_length(text)

    def markdown(self) -> str:
        """The page, its end saying how much was left out whole; empty where no section had a line to show."""
        if len(self._texts) == 1:
            return ""
        closing = f"\n{more_line(self.unsaid)}" if self.unsaid else ""
        return "".join(self._texts) + closing


def fill_page(write: Callable[[Page], Shown], max_bytes: int) -> tuple[str, Page, Shown]:
    """The text of a page of at most `max_bytes` bytes, the page, and what `write` says that it shows.

    `write` adds the sections. Where one has no room at all, it writes again, on a page that keeps room to say
    so.

    :raises ConfigError: if `max_bytes` is negative.
    """
    if max_bytes < 0:
        raise ConfigError(f"max_bytes is {max_bytes}; a block needs 0 or more bytes (PI's default is 14000)")
    page = Page(max_bytes)
    shown = write(page)
    if page.unsaid:
        closing = 1 + byte_length(more_line(page.offered))
        page = Page(max_bytes - closing)
        shown = write(page)
    return page.markdown(), page, shown
