"""Prompts with the records that belong to them, asked of parts of collections: with an answer and without."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.retrieval.corpora import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.retrieval.beir import Collection

    Folders = dict[str, list[Collection]]

# Records of a part, and how many parts a folder gives: small memories have few questions each.
SIZES = {35: 21, 100: 14, 300: 7}
KINDS = {
    "answered": "a question of the part",
    "joined": "two to four of them in one prompt",
    "foreign": "a question of another folder",
    "unanswered": "a question of the same collection whose answers the part lacks",
}
_OTHERS = 5  # prompts of each kind without an answer, a part


class Prompt(NamedTuple):
    """What is asked, of which kind, and the ids of the records that belong."""

    text: str
    kind: str
    relevant: frozenset[str]


class Part(NamedTuple):
    """A small memory of one folder, and what it is asked."""

    folder: str
    size: int
    collection: Collection
    prompts: list[Prompt]


def parts(folders: Folders) -> Iterator[Part]:
    """The same parts and prompts at each run."""
    for name, collections in folders.items():
        foreign = [text for other, found in folders.items() if other != name for text in _texts(found)]
        for size, count in SIZES.items():
            for seed in range(count):
                whole = collections[seed % len(collections)]
                small = part(whole, size, seed)
                yield Part(name, size, small, list(_prompts(whole, small, foreign, seed)))


def _texts(collections: list[Collection]) -> list[str]:
    return [text for collection in collections for text in collection.queries.values()]


def _prompts(whole: Collection, small: Collection, foreign: list[str], seed: int) -> Iterator[Prompt]:
    chosen = random.Random(seed)
    for query, text in small.queries.items():
        yield Prompt(text, "answered", frozenset(small.qrels[query]))
    for _ in range(len(small.queries) // 2):
        several = chosen.sample(list(small.queries), min(chosen.choice((2, 3, 4)), len(small.queries)))
        belong = frozenset[str]().union(*(small.qrels[query] for query in several))
        yield Prompt(" ".join(small.queries[query] for query in several), "joined", belong)
    for text in chosen.sample(foreign, min(len(foreign), _OTHERS)):
        yield Prompt(text, "foreign", frozenset())
    lacking = [query for query in whole.queries if not whole.qrels[query].keys() & small.corpus.keys()]
    for query in chosen.sample(lacking, min(len(lacking), _OTHERS)):
        yield Prompt(whole.queries[query], "unanswered", frozenset())
