"""Which records may speak in a turn, one record at a time and one rule after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_rank.context import folder_keys, project_key, project_keys, slug
from pi_rank.turn.processors import turn_segments
from tests.reference.negative_scope import phrase_matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pi_rank.context import SessionContext
    from pi_rank.memory.records import MemoryRecord


def exclusion(record: MemoryRecord, context: SessionContext, tombstones: Collection[str]) -> str | None:
    """Why a record is left out, by the first processor that leaves it out; None where it passes all four."""
    if record.id in tombstones:
        return "status:tombstoned"
    if record.status != "active":
        return f"status:{record.status}"
    return misplaced(record, context)


def misplaced(record: MemoryRecord, context: SessionContext) -> str | None:
    """The profile, project and negative-scope checks, which contested records go through as well."""
    pi_id = context.pi_project_id
    profiles = {context.profile_id, f"project:{pi_id}" if pi_id else context.profile_id}
    if record.profile_id and record.profile_id not in profiles:
        return f"profile_mismatch:{record.profile_id}"
    if record.layer != "L1" and record.scope.type == "project":
        project = record.scope.project or ""
        keys = project_keys(context) | folder_keys(context) | ({slug(pi_id)} if pi_id else set())
        if project.strip() and project_key(project) not in keys:
            return f"project_scope_mismatch:{project}"
    readers = record.extra.get("read_by")
    if context.reader and isinstance(readers, list) and context.reader in readers:
        return f"read_by:{context.reader}"
    segments = turn_segments(context)
    for name in ("does_not_apply_when", "known_exceptions"):
        for phrase in getattr(record, name):
            if any(phrase_matches(phrase, segment) for segment in segments):
                return f"{name}:{phrase}"
    return None


def eligible_ids(
    records: Iterable[MemoryRecord], context: SessionContext, tombstones: Collection[str] = ()
) -> set[str]:
    """Ids of the records that pass."""
    return {record.id for record in records if exclusion(record, context, tombstones) is None}
