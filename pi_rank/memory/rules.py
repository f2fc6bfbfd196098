"""Which records are rules that always apply."""

from __future__ import annotations

from typing import Protocol

HARD_RULE_CONFIDENCE = 0.85
HARD_RULE_TYPES = frozenset({"avoid_pattern", "prefer_pattern", "convention", "correction"})


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
