"""What a turn gives back: the block, what was chosen, what was left out and why, and how long it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from pi_rank.memory.contents import Skipped
from pi_rank.memory.records import Layer, MemoryRecord
from pi_rank.memory.sources.protocol import origin_of

Mode = Literal["hybrid", "lexical", "terms", "semantic", "id", "name", "applies", "none"]
# By which the pi coding agent knows messages of PI's memory again.
CUSTOM_TYPE = "pi-persistent-intelligence-context"
SourceName = Literal["lexical", "semantic", "terms", "id", "name", "applies"]


class RankSource(msgspec.Struct, frozen=True):
    """One ranking that a hit came from: its 1-based rank there and what it added to the hit's score.

    `rank` is None where the source scored the hit but did not list it among its own best.
    """

    source: SourceName
    rank: int | None
    score: float


class Hit(msgspec.Struct, frozen=True):
    """One ranked record. `score` is the sum of its sources' shares; equal scores are ordered by record id.

    In a turn, an identity record (L1) that no ranking found has score 0 and no sources.

    `relevance`: how likely the record belongs to the query, 0 to 1 (docs/ranking.md); 1 where the query names
    it. None where nothing tells: by words alone, by ranks alone, or with a model whose card has no constants.

    Scores compare within one answer only: where both sources answered they are `pi_rank.ranking.blend`'s;
    else, and with `ranking="rrf"`, those of Reciprocal Rank Fusion. A reranker changes the order of hits, not
    their scores.
    """

    id: str
    score: float
    record: MemoryRecord
    sources: tuple[RankSource, ...] = ()
    relevance: float | None = None

    @property
    def layer(self) -> Layer:
        """The record's layer, L1, L2 or L3."""
        return self.record.layer

    @property
    def confidence(self) -> float:
        """The record's confidence, 0 to 1."""
        return self.record.confidence


class ProcessorTrace:
    """What one processor took in, let through, and left out, and what it let through for PI's ids alone.

    The ids and reasons are worked out when somebody first reads them: leaving out 99,000 of 100,000 records
    costs nothing until then.
    """

    __slots__ = ("_admitted", "_excluded", "input_count", "output_count", "processor")

    def __init__(
        self,
        processor: str,
        input_count: int,
        output_count: int,
        excluded: Callable[[], Mapping[str, str]],
        admitted: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        self.processor = processor
        self.input_count = input_count
        self.output_count = output_count
        self._excluded: Callable[[], Mapping[str, str]] | Mapping[str, str] = excluded
        self._admitted: Callable[[], Mapping[str, str]] | Mapping[str, str] = admitted or {}

    @property
    def exclusion_reasons(self) -> Mapping[str, str]:
        """Record id → why it was left out, in id order."""
        if callable(self._excluded):
            self._excluded = self._excluded()
        return self._excluded

    @property
    def admission_reasons(self) -> Mapping[str, str]:
        """Record id → `pi_profile:…` or `pi_project:…`, in id order: let through for PI's own id alone."""
        if callable(self._admitted):
            self._admitted = self._admitted()
        return self._admitted

    @property
    def excluded_ids(self) -> list[str]:
        """Ids of the records left out, in id order."""
        return list(self.exclusion_reasons)

    def to_dict(self, *, excluded: bool = True) -> dict[str, Any]:
        """The trace as PI writes it; with `excluded` False only its counts, which cost nothing.

        Where there are any, `admission_reasons` come on top of what PI writes.
        """
        counts: dict[str, Any] = {
            "processor": self.processor,
            "input_count": self.input_count,
            "output_count": self.output_count,
        }
        if not excluded:
            return counts
        written = {
            **counts,
            "excluded_ids": self.excluded_ids,
            "exclusion_reasons": dict(self.exclusion_reasons),
        }
        if self.admission_reasons:
            written["admission_reasons"] = dict(self.admission_reasons)
        return written

    def __repr__(self) -> str:
        return f"ProcessorTrace({self.processor!r}, {self.input_count} -> {self.output_count})"


class RetrievalContext(msgspec.Struct, frozen=True, kw_only=True):
    """One turn's answer.

    `timings` are milliseconds per step, in the order the steps ran, with `total` last. `stats` counts records
    (`records`, `eligible`, `candidates`, …) and says which generation of memory served the turn.
    """

    markdown: str
    selected: tuple[Hit, ...] = ()
    hard_rules: tuple[MemoryRecord, ...] = ()
    contested: tuple[MemoryRecord, ...] = ()
    traces: tuple[ProcessorTrace, ...] = ()
    mode: Mode = "none"
    stats: dict[str, Any] = {}
    timings: dict[str, float] = {}

    def to_dict(self, *, excluded: bool = True) -> dict[str, Any]:
        """The answer as one JSON-ready object: what `pi-rank context --json` prints.

        :param excluded: with the ids that the processors left out, which may be most of the memory.
        """
        return {
            "markdown": self.markdown,
            "bytes": len(self.markdown.encode()),
            "mode": self.mode,
            "selected": [hit_to_dict(hit) for hit in self.selected],
            "hard_rules": [record_to_dict(record) for record in self.hard_rules],
            "contested": [record_to_dict(record) for record in self.contested],
            "traces": [trace.to_dict(excluded=excluded) for trace in self.traces],
            "stats": self.stats,
            "timings_ms": self.timings,
        }

    def as_custom_message(self) -> dict[str, Any] | None:
        """The message that a pi extension returns from `before_agent_start`; None where it says nothing."""
        if not self.markdown:
            return None
        return {"customType": CUSTOM_TYPE, "content": self.markdown, "display": False}


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync did to the store. Counts are records; `skipped` are lines."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    generation: int = 0
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """A hit as a JSON-ready object: its record, its score and relevance, and the rankings it comes from."""
    sources = [{"source": s.source, "rank": s.rank, "score": s.score} for s in hit.sources]
    return {
        **record_to_dict(hit.record),
        "score": hit.score,
        "relevance": hit.relevance,
        "sources": sources,
    }


def record_to_dict(record: MemoryRecord) -> dict[str, Any]:
    """What identifies a record, how it is meant and what it says, JSON-ready: the same at every door.

    `origin` is the file and line of one that a source has read; PI's own have none.
    """
    origin = origin_of(record)
    return {
        "id": record.id,
        "layer": record.layer,
        "status": record.status,
        "confidence": record.confidence,
        "rule_type": record.rule_type,
        "statement": record.statement,
        **({"origin": origin} if origin else {}),
    }
