"""How a ranked record is shown to somebody who asked memory: as a hit of a turn, and as a row on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_rank.block.staleness import staleness_mark, utc_seconds
from pi_rank.memory.rules import rule_label, rule_word
from pi_rank.recall.types import MemoryHit, Presentation
from pi_rank.results import hit_to_dict

if TYPE_CHECKING:
    from datetime import date

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
    return record.memory_kind or rule_word(record.rule_type) or "memory"


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
    shown = snippet(hit.record)
    return MemoryHit(hit.id, kind(hit.record), hit.score, shown, presentation(hit.record), provenance(hit))


def wire_row(hit: Hit, today: date) -> dict[str, Any]:
    """A hit as a row of `POST /recall`: REMANENTIA's four keys, the record's and hit's own, and then ours.

    :param today: to which the record's age is counted.
    """
    record = hit.record
    own = hit_to_dict(hit)
    del own["statement"]  # the snippet is it
    return {
        "name": hit.id,
        "score": hit.score,
        "snippet": snippet(record),
        "type": kind(record),
        **own,
        "presentation": presentation(record),
        "updated_at": record.updated_at,
        "staleness": staleness(record, today),
        "evidence": evidence_kinds(record),
    }


def staleness(record: MemoryRecord, today: date) -> str:
    """`fresh`, or how old: `45d`, `stale-unknown`."""
    words = staleness_mark(record.updated_at, utc_seconds(today)).split()
    return words[-1] if words else "fresh"


def snippet(record: MemoryRecord) -> str:
    """What the record says, as it is meant (`AVOID: …`), cut to what the public client shows."""
    text = rule_label(record.rule_type, record.status) + record.statement.strip()
    return text if len(text) <= MAX_SNIPPET else text[: MAX_SNIPPET - 1] + "…"
