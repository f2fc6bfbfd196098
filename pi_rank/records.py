"""The memory record: one immutable typed value per line of PI's JSONL files."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Layer = Literal["L1", "L2", "L3"]
Status = Literal["active", "contested", "deprecated", "superseded", "promoted", "deleted"]
Stability = Literal["low", "semi-stable", "stable"]
RuleType = Literal[
    "workflow",
    "preference",
    "convention",
    "architecture",
    "avoid_pattern",
    "prefer_pattern",
    "testing",
    "correction",
    "tool",
]
MemoryKind = Literal["fact", "event", "instruction", "task"]


class Scope(msgspec.Struct, frozen=True):
    """Where a record applies: everywhere, in one project, or in some domains."""

    type: Literal["global", "project", "domain"] = "global"
    project: str | None = None
    domains: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True):
    """What a record rests on."""

    type: str = ""
    ref: str = ""
    note: str = ""


class Review(msgspec.Struct, frozen=True):
    """When a record is due to be looked at again."""

    cadence_days: float | None = None
    next_review: str | None = None
    change_condition: str | None = None


class MemoryRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"rule_type": "ruleType"}):
    """One record of memory. Field names are PI's, except `rule_type` (`ruleType` in the file).

    `extra` holds the keys of the line that this type does not know, as decoded JSON.
    """

    id: str
    statement: str
    layer: Layer
    status: Status
    confidence: float
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    stability: Stability | None = None
    created_at: str | None = None
    updated_at: str | None = None
    review: Review | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    vault_ref: str | None = None
    resource_id: str | None = None
    profile_id: str | None = None
    thread_id: str | None = None
    normalized_key: str | None = None
    applies_when: tuple[str, ...] = ()
    does_not_apply_when: tuple[str, ...] = ()
    known_exceptions: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None
    rule_type: RuleType | None = None
    memory_kind: MemoryKind | None = None
    extra: dict[str, Any] = {}
