"""Negative scope in plain Python: the rules of pi_rank._core.negative_scope, one line each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pi_rank.words import FUNCTION_WORDS

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c\u3040-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
# Points of Hebrew and Arabic, the dot of İ, and what nobody sees.
LEFT_OUT = re.compile(
    "[\u0307\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u00ad\u034f\u061c\u180b-\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef]"
)
GLYPH_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
SHORT_STEM = re.compile("[b-df-hj-np-tv-z]{2,}[aeiouy][b-df-hj-np-tvz]")
DOUBLED = re.compile("([b-df-hj-np-tv-z])\\1$")


def is_unspaced(character: str) -> bool:
    return bool(UNSPACED.match(character)) and character.isalnum() and not character.isdecimal()


def is_glyph_mark(character: str) -> bool:
    return bool(GLYPH_SELECTOR.match(character)) or unicodedata.category(character) == "Me"


def tokenize(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = LEFT_OUT.sub("", text).replace("ı", "i").replace("\u200b", " ")
    words = [""]  # the last one is open; an empty one stands for a separator
    for character in text:
        if is_glyph_mark(character):
            continue
        if unicodedata.category(character).startswith("M"):
            words[-1] += character if words[-1] else ""
        elif not character.isalnum():
            words.append("")
        elif is_unspaced(character) or (words[-1] and is_unspaced(words[-1][0])):
            words.append(character)
        else:
            words[-1] += character
    return [word for word in words if word]


def letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def without(word: str, ending: str) -> str | None:
    """`word` without `ending`, or None where it has none or fewer than four letters would be left."""
    stem = word.removesuffix(ending)
    return stem if stem != word and letters(stem) >= 4 else None


def undoubled(word: str) -> str:
    return word[:-1] if DOUBLED.search(word) and letters(word) > 4 else word


def without_verbal(word: str, ending: str) -> str | None:
    stem = without(word, ending)
    if stem is None or (ending != "ing" and stem.endswith("e")):
        return None
    return stem + "e" if SHORT_STEM.fullmatch(stem) else undoubled(stem)


def prefix_key(token: str) -> str:
    key = token
    if letters(key) < 4:
        return key
    if not key.endswith(("ss", "us")):
        key = without(key, "s") or key
    key = without_verbal(key, "ing") or without_verbal(key, "ed") or key
    key = without_verbal(key, "er") or key
    key = without(key, "ment") or key
    if not SHORT_STEM.fullmatch(key[:-1]):
        key = without(key, "e") or key
    key = undoubled(key)
    return key[:-1] + "y" if key.endswith("i") else key


def content_keys(text: str) -> list[str]:
    return [prefix_key(token) for token in tokenize(text) if token not in FUNCTION_WORDS]


def has_run(text: list[str], run: list[str]) -> bool:
    return any(text[at : at + len(run)] == run for at in range(len(text)))


def phrase_matches(phrase: str, segment: str) -> bool:
    if keys := content_keys(phrase):
        return has_run(content_keys(segment), keys)
    tokens = tokenize(phrase)
    return bool(tokens) and has_run(tokenize(segment), tokens)


def match(phrases: Sequence[Sequence[str]], segments: Sequence[str]) -> list[tuple[int, int]]:
    """(row, index of its first phrase that matches) of every row that has one."""
    found = []
    for row, row_phrases in enumerate(phrases):
        hits = [i for i, phrase in enumerate(row_phrases) if any(phrase_matches(phrase, s) for s in segments)]
        if hits:
            found.append((row, hits[0]))
    return found
