"""Finds credentials in text that is about to be stored: by structure where that is sure, else by form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import NamedTuple

from pi_rank.characters import INVISIBLE, JOINERS, SELECTORS
from pi_rank.injection.secret_forms import ANYWHERE, IN_LONG_WORDS, LONG_WORD, Form

# A value beside a word like `password` is a credential where its characters look drawn, not written.
MIN_BITS = 3.0  # per character, of a value of 16 characters or more
LONG_VALUE = 16
MOST_BEFORE = 40  # characters in which a key word and what follows it stand
_UNSEEN = re.compile(f"[{INVISIBLE}{JOINERS}{SELECTORS}]")
_DRESSED = re.compile(f"[{INVISIBLE}{JOINERS}{SELECTORS}\uff01-\uff5e]")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width letters, digits and marks


class _Found(NamedTuple):
    """One credential: where the part of it stands that must not be seen, and what it is."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[str]:
    """The kinds of credential in a text, in the order in which they stand there; never the credentials."""
    plain, _ = _plain(text)
    return [found.kind for found in _find(plain)]


def mask_secrets(text: str) -> str:
    """The text with each credential replaced by `[masked AWS access key]` and the like."""
    plain, places = _plain(text)
    parts: list[str] = []
    at = 0
    for found in _find(plain):
        start, end = found.start, found.end
        if places is not None:
            start, end = places[start], places[end - 1] + 1
        parts += (text[at:start], f"[masked {found.kind}]")
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _plain(text: str) -> tuple[str, list[int] | None]:
    """The text as a program reads it, without what nobody sees, and where each character of it stood."""
    if text.isascii() or not _DRESSED.search(text):
        return text, None
    wide = text.translate(_WIDE)
    kept: list[str] = []
    places: list[int] = []
    at = 0
    for unseen in _UNSEEN.finditer(wide):
        kept.append(wide[at : unseen.start()])
        places += range(at, unseen.start())
        at = unseen.end()
    kept.append(wide[at:])
    places += range(at, len(wide))
    return "".join(kept), places


def _find(text: str) -> list[_Found]:
    found = [each for form in ANYWHERE if _hinted(form, text) for each in _matches(form, text)]
    # No credential has a blank in it, and few words are long: hints are looked for in these alone.
    words = "\n".join([word for word in text.split() if len(word) >= LONG_WORD])
    for form in IN_LONG_WORDS if words else ():
        if _hinted(form, text if form.drawn else words):
            found += _matches(form, text)
    return _apart(found)


def _hinted(form: Form, text: str) -> bool:
    return any([hint in text for hint in form.hints])  # noqa: C419  (a generator costs more than the search)


def _matches(form: Form, text: str) -> Iterator[_Found]:
    group = "value" if "value" in form.pattern.groupindex else 0
    for match in form.pattern.finditer(text):
        if form.drawn and not _is_drawn(match[group]):
            continue
        start = match.start()
        if form.before is None or form.before.search(text, max(0, start - MOST_BEFORE), start):
            yield _Found(*match.span(group), form.kind)


def _apart(found: list[_Found]) -> list[_Found]:
    """In order of the text; of two that overlap, the one that begins first, or is longer."""
    kept: list[_Found] = []
    for each in sorted(found, key=lambda item: (item.start, -item.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _is_drawn(value: str) -> bool:
    """Whether a value's characters look drawn: letters and digits mixed and, of a long value, in no order."""
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    if len(value) < LONG_VALUE:
        return True
    counts = Counter(value)
    bits = -sum(count / len(value) * log2(count / len(value)) for count in counts.values())
    return bits >= MIN_BITS
