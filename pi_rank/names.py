"""Names in a text: pieces that look like the id of a record, whatever stands around them."""

from __future__ import annotations

import re
from itertools import islice

MOST_NAMES = 64  # of one text: a pasted log has thousands of pieces that look like names
MIN_CHARACTERS = 3
_RUN = re.compile(r"[A-Za-z0-9_]+(?:[.:@#/-]+[A-Za-z0-9_]+)*")
_PART = re.compile(r"[A-Za-z0-9_]+")
_AROUND = "\"'`.,;:!?()[]{}<>*“”‘’«»…"
_WIDE_MARKS = str.maketrans(dict.fromkeys("，。；：！？（）【】「」『』《》、", " "))


def names_in(text: str) -> tuple[str, ...]:
    """What may be ids in a text, in the order of the text, each once: `mem_x` of "what does (mem_x)'s rule
    say?".

    The whole text may be one, whatever it is. A piece of it may be where it has a letter, and a digit, a
    mark or
    `_` as well: an id that is a plain word is found by that word alone.
    """
    whole = text.strip()
    if not whole:
        return ()
    spaced = whole if whole.isascii() else whole.translate(_WIDE_MARKS)
    pieces = islice((piece for piece in spaced.split() if not piece.isalpha()), MOST_NAMES)
    names = dict.fromkeys([whole, *(name for piece in pieces for name in _of_piece(piece))])
    return tuple(islice(names, MOST_NAMES))


def _of_piece(piece: str) -> list[str]:
    bare = piece.strip(_AROUND)
    runs = _RUN.findall(piece)
    parts = [part for run in runs for part in _PART.findall(run)]
    return [name for name in (bare, *runs, *parts) if _looks_like_a_name(name)]


def _looks_like_a_name(text: str) -> bool:
    return len(text) >= MIN_CHARACTERS and not text.isalpha() and any(map(str.isalpha, text))
