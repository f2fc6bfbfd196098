"""The lines of the block: one record, note or session each, in PI's format."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pi_rank.block.graphemes import prefix_within
from pi_rank.block.neutral import neutralise, neutralise_id, neutralise_name, neutralise_note
from pi_rank.block.plain import plain
from pi_rank.block.staleness import staleness_mark
from pi_rank.memory.notes import SessionSummary
from pi_rank.memory.records import MemoryRecord
from pi_rank.memory.rules import RULE_WORDS, rule_label, rule_word

MAX_DECISIONS = 2
MAX_TITLE_BYTES = 160
MAX_SESSION_BYTES = 480
QUOTED = "> "
"""What stands before words that are no record's: Markdown's mark of a quotation."""

_MARKS = {"avoid_pattern": "⚠️", "prefer_pattern": "✓", "convention": "📌", "correction": "📌"}
_CENT = Decimal("0.01")


class Line(NamedTuple):
    """One line without its newline; a cut may fall only after `label`, which says what the line is."""

    label: str
    text: str


@lru_cache(maxsize=4_096)
def format_confidence(confidence: float) -> str:
    """Two decimals, halves up on the number as it was written: 0.125 is 0.13 and 0.995 is 1.00."""
    return str(Decimal(repr(confidence)).quantize(_CENT, ROUND_HALF_UP))


def record_line(record: MemoryRecord, now: float) -> Line:
    """`- mem_abc [L2, conf 0.94] …`, with staleness and rule type inside the bracket where there are any."""
    stale = staleness_mark(record.updated_at, now)
    rule = f" [{word}]" if (word := rule_word(record.rule_type)) else ""
    confidence = format_confidence(record.confidence)
    label = f"- {neutralise_id(record.id)} [{record.layer}, conf {confidence}{stale}{rule}] "
    return Line(label, neutralise(record.statement))


def hard_rule_line(record: MemoryRecord) -> Line:
    """`⚠️ AVOID: [conf 0.92] …` and its three sisters.

    :raises KeyError: if the record's rule type is none of the hard ones.
    """
    return _hard_rule_line(record.rule_type or "", record.confidence, record.statement)


@lru_cache(maxsize=1_024)
def _hard_rule_line(rule_type: str, confidence: float, statement: str) -> Line:
    # The same few in every turn, and twice in each: to see how many fit, and to write them.
    label = f"{_MARKS[rule_type]} {RULE_WORDS[rule_type]}: [conf {format_confidence(confidence)}] "
    return Line(label, neutralise(statement))


def contested_line(record: MemoryRecord) -> Line:
    """`⚠️ CONTESTED: [mem_xyz, conf 0.88] …`, with what kind of rule it is: `AVOID: …`."""
    name, confidence = neutralise_id(record.id), format_confidence(record.confidence)
    label = f"⚠️ CONTESTED: [{name}, conf {confidence}] {rule_label(record.rule_type)}"
    return Line(label, neutralise(record.statement))


def recalled_line(record: MemoryRecord) -> str:
    """`mem_abc [L2, conf 0.94] AVOID: …`: a record in a list of what was found."""
    bracket = f"[{record.layer}, conf {format_confidence(record.confidence)}]"
    return f"{neutralise_id(record.id)} {bracket} {statement_line(record)}"


def statement_line(record: MemoryRecord) -> str:
    """What a record says and how it is meant, on one line: `AVOID: …`, `CONTESTED: [workflow] …`."""
    return rule_label(record.rule_type, record.status) + neutralise(record.statement)


@lru_cache(maxsize=64)
def session_line(session: SessionSummary) -> Line:
    """`- [project] what it was about; a decision; another`, without text where the session has none.

    It was about its name, or what was first said in it. What is too long is cut, and ends with `…`.
    """
    about = plain(session.name) or plain(session.first_message)
    decisions = filter(None, map(plain, session.decisions))
    said = [_cut(about, MAX_TITLE_BYTES), *islice(decisions, MAX_DECISIONS)]
    text = _cut("; ".join(filter(None, said)), MAX_SESSION_BYTES)
    return Line(f"- [{neutralise_name(session.project_name)}] ", text)


def _cut(text: str, max_bytes: int) -> str:
    safe = neutralise(text)
    if len(safe.encode()) <= max_bytes:
        return safe
    return prefix_within(safe, max_bytes - len("…".encode())).rstrip() + "…"


def note_line(text: str) -> Line:
    """`> …`: one line of the daily log, quoted, so that none of it looks like a line of the block's own."""
    return Line(QUOTED, neutralise_note(text))


def open_item_line(text: str) -> Line:
    """`- [ ] …`: something still to do."""
    return Line("- [ ] ", neutralise(text))
