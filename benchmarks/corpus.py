"""A generated memory of any size: the same for the same seed, word frequencies like those of real text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "er", "ol")]
# Exponent of the rank-frequency law. Word counts of English prose follow one near 1 (Zipf, 1949).
ZIPF_EXPONENT = 1.0
RULE_TYPES = [
    *(None, "workflow", "preference", "convention", "architecture", "avoid_pattern", "prefer_pattern"),
    *("testing", "correction", "tool"),
]
STATUSES = ["active"] * 16 + ["contested", "deprecated", "superseded", "promoted"]

# Share of the records that are eligible: where the turn takes place. A turn is in up to two projects at once,
# by its repository's name and by its folder, and what is global is eligible in all of them.
NESTED_PLACES: dict[float, dict[str, str]] = {
    0.01: {},
    0.1: {"repository_id": "small"},
    1.0: {"repository_id": "small", "project_root": "/src/large"},
}


@dataclass(frozen=True)
class Corpus:
    """Records and prompts drawn from one vocabulary.

    :param seed: everything follows from it.
    :param size: number of records.
    :param vocabulary: number of distinct words.
    :param eligible_share: share of records that are global; the rest are of other projects than the turn's.
    :param profiles: records are spread over this many profiles, and none.
    :param mixed: also draw statuses, layers, rule types, confidences; else all are active L2 workflow
        records.
    :param nested: spread the records over the places of `NESTED_PLACES` instead, so that one memory answers
        for every eligible share, with L1 records among the global ones.
    """

    seed: int
    size: int
    vocabulary: int = 20_000
    eligible_share: float = 1.0
    profiles: int = 0
    mixed: bool = False
    nested: bool = False

    @cached_property
    def words(self) -> list[str]:
        """The vocabulary, most frequent word first."""
        rng = np.random.default_rng(self.seed)
        words: dict[str, None] = {}
        while len(words) < self.vocabulary:
            picks = rng.integers(len(SYLLABLES), size=rng.integers(2, 5))
            words["".join(SYLLABLES[i] for i in picks)] = None
        return list(words)

    @cached_property
    def _cumulative(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        weights = 1.0 / np.arange(1, self.vocabulary + 1) ** ZIPF_EXPONENT
        return np.cumsum(weights / weights.sum())

    def text(self, rng: np.random.Generator, length: int) -> str:
        """`length` words drawn by frequency."""
        ranks = np.searchsorted(self._cumulative, rng.random(length))
        return " ".join(self.words[min(rank, self.vocabulary - 1)] for rank in ranks)

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, as PI writes them; a fifth has a negative-scope phrase of one to three words."""
        rng = np.random.default_rng([self.seed, 1])
        for number in range(self.size):
            yield self._record(rng, number)

    def _record(self, rng: np.random.Generator, number: int) -> dict[str, Any]:
        record: dict[str, Any] = {
            "id": f"mem_{number:07d}",
            "layer": "L2",
            "scope": {"type": "global"},
            "statement": self.text(rng, int(rng.integers(8, 25))),
            "tags": self.text(rng, int(rng.integers(0, 3))).split(),
            "confidence": 0.8,
            "status": "active",
            "created_at": "2026-01-01",
            "updated_at": f"2026-{rng.integers(1, 7):02d}-{rng.integers(1, 29):02d}",
            "ruleType": "workflow",
        }
        if rng.random() >= self.eligible_share:
            record["scope"] = {"type": "project", "project": f"elsewhere-{rng.integers(20)}"}
        if self.profiles and (profile := int(rng.integers(self.profiles + 1))):
            record["profile_id"] = f"project:{profile}"
        if number % 5 == 0:
            ranks = rng.integers(50, self.vocabulary, size=rng.integers(1, 4))
            record["does_not_apply_when"] = [" ".join(self.words[rank] for rank in ranks)]
        if self.mixed:
            self._vary(rng, record)
        if self.nested:
            _place(rng, record)
        return record

    def _vary(self, rng: np.random.Generator, record: dict[str, Any]) -> None:
        record["layer"] = "L1" if rng.random() < 0.1 else "L2"
        record["status"] = STATUSES[rng.integers(len(STATUSES))]
        record["confidence"] = round(float(rng.uniform(0.4, 1.0)), 2)
        record["ruleType"] = RULE_TYPES[rng.integers(len(RULE_TYPES))]
        if rng.random() < 0.2:
            record["known_exceptions"] = [self.words[rng.integers(20, 400)]]

    def turn(self, prompt: str, share: float) -> dict[str, Any]:
        """The fields of a turn for which this share of a nested corpus is eligible, statuses aside.

        :raises KeyError: no place of `NESTED_PLACES` has that share.
        """
        return {"latest_user_message": prompt, **NESTED_PLACES[share]}

    def prompts(self, count: int, length: int, draw: int = 0) -> list[str]:
        """`count` prompts of `length` words; others for another `draw`."""
        rng = np.random.default_rng([self.seed, 2, length, draw])
        return [self.text(rng, length) for _ in range(count)]

    def write(self, root: Path) -> Path:
        """Writes the records as a PI memory root."""
        memory = root / "memory"
        memory.mkdir(parents=True)
        lines: dict[str, list[str]] = {"L1": [], "L2": []}
        for record in self.records():
            lines[record["layer"]].append(json.dumps(record, ensure_ascii=False))
        (memory / "L1.identity.jsonl").write_text("".join(f"{x}\n" for x in lines["L1"]), encoding="utf-8")
        (memory / "L2.playbooks.jsonl").write_text("".join(f"{x}\n" for x in lines["L2"]), encoding="utf-8")
        return root


def _place(rng: np.random.Generator, record: dict[str, Any]) -> None:
    draw = rng.random()
    if draw < 0.01:
        record["scope"] = {"type": "global"}
    else:
        record["scope"] = {"type": "project", "project": "small" if draw < 0.1 else "large"}
        record["layer"] = "L2"  # an L1 record is global whatever its scope says
