"""What a search finds, whatever kind of collection it is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Found(NamedTuple):
    """A document in a ranking. `score`: 0 to 1. `hash`: sha256 of its content. `span`: its best characters.

    `record_id`: the memory record that it is, in a memory collection; then `body` is its text.
    """

    collection: str
    path: str
    title: str
    hash: str
    score: float
    span: tuple[int, int] | None = None
    record_id: str | None = None
    body: str = ""

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

    `mode`: `all` or `any` of the words, `terms` like them, or `semantic`.
    """

    mode: str
    found: list[Found]


def merged(lists: Iterable[Ranked], k: int) -> Ranked:
    """Rankings of different collections as one; their scores have one meaning, so they are comparable."""
    parts = [ranked for ranked in lists if ranked.found]
    together = [found for ranked in parts for found in ranked.found]
    together.sort(key=lambda found: (-found.score, found.collection, found.path))
    return Ranked(parts[0].mode if parts else "none", together[:k])


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
