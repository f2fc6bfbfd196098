"""How a ranked record is shown to somebody who asked memory: as a hit of a turn, and as a row on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_rank.recall.types import MemoryHit, Presentation

if TYPE_CHECKING:
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.results import Hit

MAX_SNIPPET = 1_200
VALIDATED_CONFIDENCE = 0.85  # what PI asks of a rule before it is shown as one
# Evidence that somebody or something looked; a note of what an agent said is none.
_UNVERIFIED_EVIDENCE = frozenset({"", "note", "inference", "inferred"})


def presentation(record: MemoryRecord) -> Presentation:
    """`validated`: active, of high confidence, and resting on evidence. `refuted`: contested. Else
    `boundary`.
    """
    if record.status == "contested":
        return "refuted"
    verified = any(evidence.type not in _UNVERIFIED_EVIDENCE for evidence in record.evidence)
    confident = record.status == "active" and record.confidence >= VALIDATED_CONFIDENCE
    return "validated" if confident and verified and record.layer != "L3" else "boundary"


def kind(record: MemoryRecord) -> str:
    """What sort of thing a record is, in one word that is never blank."""
    if record.layer == "L3":
        return "note"
    return record.memory_kind or record.rule_type or "memory"


def provenance(hit: Hit) -> str:
    """Where a hit comes from: layer, confidence, date, evidence, and the rankings that found it."""
    record = hit.record
    parts = [f"{record.layer} {record.status}, confidence {record.confidence:.2f}"]
    if record.updated_at or record.created_at:
        parts.append(f"updated {record.updated_at or record.created_at}")
    if kinds := evidence_kinds(record):
        parts.append(f"evidence {', '.join(kinds)}")
    parts.extend(f"{source.source} #{source.rank}" for source in hit.sources)
    return " | ".join(parts)


def evidence_kinds(record: MemoryRecord) -> list[str]:
    """The kinds of a record's evidence, each once, in order."""
    return list(dict.fromkeys(evidence.type for evidence in record.evidence if evidence.type))


def memory_hit(hit: Hit) -> MemoryHit:
    """A hit as a turn sees it."""
    shown = snippet(hit.record.statement)
    return MemoryHit(hit.id, kind(hit.record), hit.score, shown, presentation(hit.record), provenance(hit))


def wire_row(hit: Hit) -> dict[str, Any]:
    """A hit as a row of `POST /recall`: REMANENTIA's four keys, then our own."""
    record = hit.record
    return {
        "name": hit.id,
        "score": hit.score,
        "snippet": snippet(record.statement),
        "type": kind(record),
        "id": hit.id,
        "layer": record.layer,
        "confidence": record.confidence,
        "status": record.status,
        "presentation": presentation(record),
        "updated_at": record.updated_at,
        "staleness": staleness(record),
        "evidence": evidence_kinds(record),
        "sources": [{"source": s.source, "rank": s.rank, "score": s.score} for s in hit.sources],
    }


def staleness(record: MemoryRecord) -> str:
    """`fresh`, or how old: `45d`, `stale-unknown`."""
    import time

    from pi_rank.block.staleness import staleness_mark

    words = staleness_mark(record.updated_at, time.time()).split()
    return words[-1] if words else "fresh"


def snippet(statement: str) -> str:
    """The statement, cut to what the public client shows."""
    text = statement.strip()
    return text if len(text) <= MAX_SNIPPET else text[: MAX_SNIPPET - 1] + "…"
