"""Which records are rules that always apply, and the word that says what kind of rule a record is."""

from __future__ import annotations

import re
from typing import Protocol

from pi_rank.characters import BLANKS, INVISIBLE

HARD_RULE_CONFIDENCE = 0.85
# What a text calls the four types that tell somebody what to do; without the word "print tokens" is advice.
RULE_WORDS = {
    "avoid_pattern": "AVOID",
    "prefer_pattern": "PREFER",
    "convention": "CONVENTION",
    "correction": "RULE",
}
HARD_RULE_TYPES = frozenset(RULE_WORDS)

MAX_WORD_CHARACTERS = 40
_NOT_OF_A_WORD = re.compile(f"(?:[^\\w.:/-]|[{INVISIBLE}{BLANKS}])+")  # some of which are letters to Unicode


class Ruling(Protocol):
    """What of a record decides whether it is a hard rule."""

    @property
    def rule_type(self) -> str | None: ...
    @property
    def layer(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def confidence(self) -> float: ...


def is_hard_rule(record: Ruling) -> bool:
    """Whether `record` is shown as a rule whatever is asked: active, L2, sure enough, and of a hard type."""
    return (
        record.rule_type in HARD_RULE_TYPES
        and record.layer == "L2"
        and record.status == "active"
        and record.confidence >= HARD_RULE_CONFIDENCE
    )


def rule_word(rule_type: str | None) -> str:
    """A rule type as one word that can stand in a line, whatever the file says; empty where it says none."""
    if not rule_type or rule_type in RULE_WORDS:
        return rule_type or ""
    return _NOT_OF_A_WORD.sub("_", rule_type.strip())[:MAX_WORD_CHARACTERS].strip("_")


def rule_label(rule_type: str | None, status: str = "active") -> str:
    """What stands before a record's statement in every text: `AVOID: `, and its three sisters.

    Another type is named in brackets: `[workflow] `. A contested record is `CONTESTED: ` first of all.
    """
    contested = "CONTESTED: " if status == "contested" else ""
    if rule_type in RULE_WORDS:
        return f"{contested}{RULE_WORDS[rule_type]}: "
    word = rule_word(rule_type)
    return f"{contested}[{word}] " if word else contested
