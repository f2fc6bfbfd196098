"""What a search finds, whatever kind of collection it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

# How a memory is ranked that has nothing to do with the question: the answer is that there is none.
OFF_TOPIC = "off topic"


class Found(NamedTuple):
    """A document in a ranking. `score`: 0 to 1. `hash`: sha256 of its content. `span`: its best characters.

    `record_id`, `rule_type`: of the memory record that it is, in a memory collection; then `body` is its
    text, and `relevance` how likely it belongs to the question (`Hit.relevance`), where that is known.
    """

    collection: str
    path: str
    title: str
    hash: str
    score: float
    span: tuple[int, int] | None = None
    record_id: str | None = None
    body: str = ""
    rule_type: str | None = None
    relevance: float | None = None

    @property
    def own(self) -> dict[str, Any]:
        """What a row has beyond qmd's keys: a record's path, id and rule type, and its relevance if known."""
        if self.record_id is None:
            return {}
        row = {"path": self.path, "id": self.record_id, "rule_type": self.rule_type}
        return row if self.relevance is None else {**row, "relevance": self.relevance}

    @property
    def uri(self) -> str:
        """`qmd://collection/path`, not URL-encoded."""
        return f"qmd://{self.collection}/{self.path}"

    @property
    def docid(self) -> str:
        """The first six hex digits of the hash, by which a document can be asked for."""
        return f"#{self.hash[:6]}"


class Ranked(NamedTuple):
    """One source's documents, best first.

    `mode`: `all` or `any` of the words, `terms` like them, `semantic`, `hybrid`, `none`, or `OFF_TOPIC`.
    `why`: what could not be ranked by meaning, in a clause for the person who asked; empty where nothing is
    missing.
    """

    mode: str
    found: list[Found]
    why: str = ""


def merged(lists: Sequence[Ranked], k: int) -> Ranked:
    """Rankings of different collections as one; their scores have one meaning, so they are comparable."""
    parts = [ranked for ranked in lists if ranked.found]
    together = [found for ranked in parts for found in ranked.found]
    together.sort(key=lambda found: (-found.score, found.collection, found.path))
    why = "; ".join(dict.fromkeys(ranked.why for ranked in lists if ranked.why))
    return Ranked(parts[0].mode if parts else "none", together[:k], why)


def relevance(cosine: Any, share: Any) -> Any:  # noqa: ANN401  (numbers, or arrays of them)
    """How relevant a document is, 0 to 1: it misses the question where it misses both meaning and words.

    1 − (1 − cosine)(1 − share), each half from 0 to 1: the noisy-or of Pearl, "Probabilistic Reasoning in
    Intelligent Systems", 1988.

    :param cosine: of the query and the document's nearest passage; 0 where it is below, or not known.
    :param share: BM25 over the most that any document could get for the query.
    """
    return 1.0 - (1.0 - cosine) * (1.0 - share)


class Embedded(NamedTuple):
    """How far a collection can be searched by meaning. `pending`: documents that lack a vector."""

    vectors: int = 0
    pending: int = 0


class StoredDocument(NamedTuple):
    """A document as `get` and `ls` need it. `modified`: seconds since 1970."""

    collection: str
    path: str
    title: str
    hash: str
    size: int
    modified: float
    body: str = ""

    @property
    def uri(self) -> str:
        """`qmd://collection/path`, not URL-encoded."""
        return f"qmd://{self.collection}/{self.path}"

    @property
    def docid(self) -> str:
        """The first six hex digits of the hash."""
        return f"#{self.hash[:6]}"
