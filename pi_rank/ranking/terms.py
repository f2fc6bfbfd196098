"""Terms that share a beginning with the query's words: what is searched for where BM25 finds nothing.

Finds `authentication` for "auth", and words in scripts without spaces, whose runs FTS5 keeps in one piece.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pi_rank._core.negative_scope import content_keys, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_rank.ranking.lexical import LexicalIndex

# A shorter beginning is shared by too many words to mean anything.
MIN_LETTERS = 4
MAX_LETTERS = 40
# Each piece of the query is a pass over the vocabulary.
MAX_PIECES = 16
MAX_TERMS = 64


def matching_terms(query: str, index: LexicalIndex) -> tuple[str, ...]:
    """Up to 64 terms of the index that match the query's words; see `terms_like`."""
    return terms_like(query, index.vocabulary())


def terms_like(query: str, vocabulary: str) -> tuple[str, ...]:
    """Up to 64 terms that match the query's words, in the words' order; some may not be in the vocabulary.

    A word and a term match where one is the beginning of the other, of four letters or more. Two neighbouring
    characters of a script without spaces match wherever they stand in a term. Only the first 16 words and
    pairs of characters are looked for, and no word of more than 40 letters.

    :param vocabulary: the terms there are, one a line.
    """
    keys = content_keys(query)
    words = [k for k in keys if MIN_LETTERS <= len(k) <= MAX_LETTERS and not is_unspaced(k[0])]
    # A pair is a term by itself; a letter alone may stand anywhere.
    pairs = [key for key in keys if is_unspaced(key[0])] if len(keys) == 1 else []
    found = dict.fromkeys(_candidates(words[:MAX_PIECES], pairs[:MAX_PIECES], f"\n{vocabulary}\n"))
    return tuple(islice(found, MAX_TERMS))


def _candidates(words: list[str], pairs: list[str], vocabulary: str) -> Iterator[str]:
    for word in words:
        yield from (word[:end] for end in range(len(word), MIN_LETTERS - 1, -1))
        yield from _lines_with(f"\n{word}", vocabulary)
    for pair in pairs:
        yield from _lines_with(pair, vocabulary)


def _lines_with(piece: str, lines: str) -> Iterator[str]:
    at = lines.find(piece)
    while at >= 0:
        begin = lines.rfind("\n", 0, at + 1) + 1
        end = lines.index("\n", begin)
        yield lines[begin:end]
        at = lines.find(piece, end)
