"""The part of a long statement that has most to do with the prompt."""

from __future__ import annotations

import re
from bisect import bisect_left

from pi_rank._core.negative_scope import content_keys

_WORD = re.compile(r"\w+")
# Where a passage may begin: behind the end of a sentence, or of a line.
_SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
MOST_CHARACTERS = 20_000  # of a statement in which a passage is looked for


def passage_start(text: str, query: str, length: int) -> int:
    """Where the `length` characters begin that hold most of the query's words, each counted once.

    The beginning of a sentence where one is near. The first of equals; 0 where there is no word of the query.
    """
    keys = set(content_keys(query))
    found = [
        (match.start(), key) for match in _WORD.finditer(text[:MOST_CHARACTERS]) for key in _own(match, keys)
    ]
    if not found:
        return 0
    places = [place for place, _ in found]
    best, start = 0, 0
    for first, place in enumerate(places):
        held = {key for _, key in found[first : bisect_left(places, place + length)]}
        if len(held) > best:
            best, start = len(held), place
    return _sentence_before(text, start, start - length // 3)


def _own(match: re.Match[str], keys: set[str]) -> set[str]:
    return keys.intersection(content_keys(match.group()))


def _sentence_before(text: str, place: int, earliest: int) -> int:
    """Where the sentence of a place begins; where that is further back than `earliest`, the place."""
    starts = [0, *(match.end() for match in _SENTENCE.finditer(text, 0, place))]
    return starts[-1] if starts[-1] >= earliest else place
