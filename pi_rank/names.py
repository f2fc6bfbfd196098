"""Names in a text: pieces that look like the id of a record, whatever stands around them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

MOST_NAMES = 64  # of one text: a pasted log has thousands of pieces that look like names
MIN_CHARACTERS = 3
_RUN = re.compile(r"[A-Za-z0-9_]+(?:[.:@#/-]+[A-Za-z0-9_]+)*")
_MARK = re.compile(r"[0-9_]")
_MARKS = "_0123456789"  # an id has one of them: looking for them costs next to nothing
_PART = re.compile(r"[A-Za-z0-9_]+")
_AROUND = "\"'`.,;:!?()[]{}<>*“”‘’«»…"
_WIDE_MARKS = str.maketrans(dict.fromkeys("，。；：！？（）【】「」『』《》、", " "))


@lru_cache(maxsize=8)  # each part of a turn asks for the same
def names_in(text: str) -> tuple[str, ...]:
    """What may be ids in a text, in the order of the text, each once: `mem_x` of "what does (mem_x)'s rule
    say?".

    The whole text may be one, whatever it is. A piece of it may be where it has a letter, and a digit or
    `_` as well: an id that is a plain word is found by that word alone.
    """
    whole = text.strip()
    if not whole:
        return ()
    spaced = whole if whole.isascii() else whole.translate(_WIDE_MARKS)
    marked = filter(_MARK.search, spaced.split()) if _is_marked(spaced) else ()
    pieces = islice(dict.fromkeys(piece.strip(_AROUND) for piece in marked), MOST_NAMES)
    names = dict.fromkeys([whole, *(name for piece in pieces for name in _of_piece(piece))])
    return tuple(islice(names, MOST_NAMES))


def _of_piece(piece: str) -> list[str]:
    parts = (name for pattern in (_RUN, _PART) for name in pattern.findall(piece))
    return list(filter(_looks_like_a_name, (piece, *parts)))


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def _looks_like_a_name(text: str) -> bool:
    return len(text) >= MIN_CHARACTERS and bool(_MARK.search(text)) and any(map(str.isalpha, text))
