"""A memory of real records and blocks for the tests: retrieval by shared words, in place of the engine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date

import msgspec

from pi_rank.block.sections import BlockParts, build_block
from pi_rank.context import SessionContext
from pi_rank.memory.records import MemoryRecord
from pi_rank.results import Hit, RetrievalContext

TODAY = date(2026, 5, 20)


def record(record_id: str, statement: str, **fields: object) -> MemoryRecord:
    """An active L2 record of today."""
    given = {
        "layer": "L2",
        "status": "active",
        "confidence": 0.9,
        "updated_at": "2026-05-20T00:00:00Z",
        **fields,
    }
    return MemoryRecord(id=record_id, statement=statement, **given)


def context(
    selected: Iterable[MemoryRecord] = (),
    *,
    hard_rules: Iterable[MemoryRecord] = (),
    contested: Iterable[MemoryRecord] = (),
    scratchpad: str = "",
    max_bytes: int = 14_000,
) -> RetrievalContext:
    """The turn's answer that shows these records, its block built by the real builder."""
    selected, hard_rules, contested = tuple(selected), tuple(hard_rules), tuple(contested)
    parts = BlockParts(
        today=TODAY, hard_rules=hard_rules, selected=selected, contested=contested, scratchpad=scratchpad
    )
    return RetrievalContext(
        markdown=build_block(parts, max_bytes=max_bytes).markdown,
        selected=tuple(Hit(id=item.id, score=1.0, record=item) for item in selected),
        hard_rules=hard_rules,
        contested=contested,
    )


class ListMemory:
    """Records in a list; a turn recalls the active ones that share most words with it."""

    def __init__(self, records: Iterable[MemoryRecord] = (), *, limit: int = 12) -> None:
        self.records = {item.id: item for item in records}
        self.limit = limit
        self.asked: list[str] = []

    def build_retrieval_context(self, turn: SessionContext) -> RetrievalContext:
        self.asked.append(turn.latest_user_message)
        words = set(re.findall(r"\w+", turn.latest_user_message.casefold()))
        scored = []
        for item in self.records.values():
            shared = len(words & set(re.findall(r"\w+", item.statement.casefold())))
            if item.status == "active" and shared:
                scored.append((-shared, item.id, item))
        return context([item for _, _, item in sorted(scored, key=lambda row: row[:2])[: self.limit]])

    def record_statuses(self, ids: Collection[str]) -> dict[str, str]:
        return {key: self.records[key].status for key in ids if key in self.records}

    def set(self, record_id: str, **fields: object) -> None:
        """Change a record, as an edit of the memory files does."""
        self.records[record_id] = msgspec.structs.replace(self.records[record_id], **fields)
