"""Terms that share a beginning with the query's words: what is searched for where BM25 finds nothing.

Finds `authentication` for "auth", and words in scripts without spaces, whose runs FTS5 keeps in one piece.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pi_rank._core.negative_scope import content_keys, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_rank.ranking.lexical import LexicalIndex

# A shorter beginning is shared by too many words to mean anything.
MIN_LETTERS = 4
MAX_LETTERS = 40
MAX_KEYS = 64
MAX_TERMS = 64


def matching_terms(query: str, index: LexicalIndex) -> tuple[str, ...]:
    """Up to 64 terms of the index's vocabulary that match a piece of the query, in the vocabulary's order.

    A word and a term match where one begins with the other's first four letters or more, all of the shorter one.
    Two neighbouring characters of a script without spaces match wherever they stand in a term. Only the first 64
    words of the query are looked at, those of more than 40 letters not at all.
    """
    patterns = sorted({pattern for pattern in _patterns(content_keys(query)[:MAX_KEYS])})
    if not patterns:
        return ()
    expression = re.compile(f"^(?:{'|'.join(patterns)})$", re.MULTILINE)
    return tuple(match.group() for match, _ in zip(expression.finditer(index.vocabulary()), range(MAX_TERMS)))


def _patterns(keys: list[str]) -> Iterator[str]:
    for key in keys:
        if MIN_LETTERS <= len(key) <= MAX_LETTERS and not is_unspaced(key[0]):
            yield f"{re.escape(key)}.*"
            yield from (re.escape(key[:end]) for end in range(MIN_LETTERS, len(key)))
    for one, two in pairwise(keys):
        if is_unspaced(one[0]) and is_unspaced(two[0]):
            yield f".*{re.escape(one + two)}.*"
