"""The block's sections, in PI's order and format, within their caps and one budget."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from itertools import islice

import msgspec

from pi_rank.block.budget import byte_length, fit_lines
from pi_rank.block.digest import daily_digest, open_items
from pi_rank.block.lines import Line, contested_line, hard_rule_line, record_line, session_line
from pi_rank.block.page import TITLE, Block, Page, fill_page
from pi_rank.block.staleness import utc_seconds
from pi_rank.memory.notes import SessionSummary
from pi_rank.memory.records import MemoryRecord

MAX_BLOCK_BYTES = 14_000
HARD_RULES_BYTES = 2_000
SELECTED_BYTES = 6_000
SCRATCHPAD_BYTES = 800
CONTESTED_BYTES = 800
DAILY_LOG_BYTES = 3_000
MAX_SESSIONS = 3

CONTESTED_WARNING = "<!-- Warning: these records have open conflicts. Review before relying on them. -->\n"


class BlockParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a block is made of, each in the order to show it.

    `hard_rules`, `selected` and `contested` are already filtered and ranked. `scratchpad` and `daily_log` are
    the files' text. `today` dates the log and the ages, in UTC. `prompt`: what a selected record that is too
    long is shortened for.
    """

    today: date
    hard_rules: Sequence[MemoryRecord] = ()
    selected: Sequence[MemoryRecord] = ()
    scratchpad: str = ""
    contested: Sequence[MemoryRecord] = ()
    daily_log: str = ""
    sessions: Sequence[SessionSummary] = ()
    prompt: str = ""


def build_block(parts: BlockParts, *, max_bytes: int = MAX_BLOCK_BYTES) -> Block:
    """The block of one turn: at most `max_bytes` bytes of UTF-8 in all; empty with nothing to show.

    :raises ConfigError: if `max_bytes` is negative.
    """
    markdown, page, shown = fill_page(lambda page: _write(page, parts), max_bytes)
    return Block(markdown=markdown, omitted=page.omitted, bytes=len(markdown.encode()), **shown)


def count_hard_rules(rules: Sequence[MemoryRecord], *, max_bytes: int = MAX_BLOCK_BYTES) -> int:
    """How many of `rules` a block of `max_bytes` has room for; the rest may be shown elsewhere in it."""
    room = min(HARD_RULES_BYTES, max_bytes - byte_length(TITLE) - 1) - byte_length("## Hard Rules\n")
    return _count_fitting(tuple([hard_rule_line(rule) for rule in rules]), room)


@lru_cache(maxsize=64)
def _count_fitting(lines: tuple[Line, ...], room: int) -> int:
    # Every turn of a session asks about the same rules.
    return fit_lines(lines, room).shown


def _write(page: Page, parts: BlockParts) -> dict[str, tuple[str, ...]]:
    now = utc_seconds(parts.today)
    rules = [hard_rule_line(record) for record in parts.hard_rules]
    count = page.add("hard_rules", "Hard Rules", rules, cap=HARD_RULES_BYTES)
    hard_rules = tuple(record.id for record in parts.hard_rules[:count])

    rest = [record for record in parts.selected if record.id not in hard_rules]
    lines = [record_line(record, now) for record in rest]
    shown = page.add_chosen("selected", "Selected Memory", lines, cap=SELECTED_BYTES, query=parts.prompt)
    selected = tuple(rest[place].id for place in shown)

    page.add("scratchpad", "Scratchpad", open_items(parts.scratchpad), cap=SCRATCHPAD_BYTES)
    lines = [contested_line(record) for record in parts.contested]
    count = page.add("contested", "Contested Memory", lines, cap=CONTESTED_BYTES, preface=CONTESTED_WARNING)
    contested = tuple(record.id for record in parts.contested[:count])

    _add_daily_log(page, parts)
    sessions = (line for session in parts.sessions if (line := session_line(session)).text)
    page.add("sessions", "Today's Sessions", list(islice(sessions, MAX_SESSIONS)))
    return {"hard_rules": hard_rules, "selected": selected, "contested": contested}


def _add_daily_log(page: Page, parts: BlockParts) -> None:
    digest = daily_digest(parts.daily_log)
    heading = f"Daily Log ({parts.today.isoformat()})"
    count = f"Sessions today: {digest.sessions}" if digest.sessions else ""
    if digest.lines:
        preface = f"{count}\n" if count else ""
        page.add("daily_log", heading, digest.lines, cap=DAILY_LOG_BYTES, preface=preface, keep=digest.keep)
    elif count:
        page.add("daily_log", heading, [Line("", count)], cap=DAILY_LOG_BYTES)
