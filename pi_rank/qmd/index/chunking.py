"""Cuts a Markdown document into overlapping chunks, and chunks into passages short enough to embed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from pi_rank.folding import count_unspaced
from pi_rank.qmd.text import fence_mark

CHUNK_TOKENS = 900
OVERLAP_TOKENS = CHUNK_TOKENS * 15 // 100
# A chunk ends at the best place of its last third: nearer to its start, it would be too short.
LOOK_BACK_TOKENS = CHUNK_TOKENS // 3
# What the shipped model reads of a text (128), less the title that goes before each passage.
PASSAGE_TOKENS = 100
# A heading begins a new passage, unless the one before it would say too little.
LEAST_PASSAGE_TOKENS = 30
CHARACTERS_PER_TOKEN = 4  # of English in WordPiece and BPE vocabularies

_HEADING = re.compile(r" {0,3}(#{1,6})\s")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$")
_BREAKS_IN_LINE = re.compile(r"\s+|(?<=[。！？；，、])")


class Span(NamedTuple):
    """Characters [start, end) of a text."""

    start: int
    end: int


class _Atom(NamedTuple):
    """A piece that is never cut: a line, a part of an overlong one, or a fenced block as a whole.

    `strength`: how good a place for a cut is just before it.
    """

    start: int
    end: int
    tokens: int
    strength: int


def chunks(text: str) -> list[Span]:
    """Spans of about `CHUNK_TOKENS` that cover the text and overlap by about `OVERLAP_TOKENS`.

    Cuts fall before headings, fences, rules, paragraphs, list items and lines, in this order of preference,
    and never inside a fence or a character. A fence that is longer than a chunk makes a longer chunk.
    """
    atoms = list(_atoms(text))
    spans: list[Span] = []
    first = 0
    while first < len(atoms):
        end = _chunk_end(atoms, first)
        spans.append(Span(atoms[first].start, atoms[end - 1].end))
        first = end if end == len(atoms) else _overlap_start(atoms, first, end)
    return spans


def passages(text: str) -> list[Span]:
    """Spans of at most about `PASSAGE_TOKENS` that cover the text.

    Cuts fall between lines where that is possible.
    """
    spans: list[Span] = []
    start = at = tokens = 0
    for piece in _pieces(text):
        size = token_count(piece)
        full = tokens + size > PASSAGE_TOKENS
        if tokens and (full or (tokens >= LEAST_PASSAGE_TOKENS and _HEADING.match(piece))):
            spans.append(Span(start, at))
            start, tokens = at, 0
        at += len(piece)
        tokens += size
    if at > start:
        spans.append(Span(start, at))
    return [span for span in spans if text[span.start : span.end].strip()]


def token_count(text: str) -> int:
    """About how many tokens a model makes of the text."""
    unspaced = count_unspaced(text)
    return unspaced + (len(text) - unspaced + CHARACTERS_PER_TOKEN - 1) // CHARACTERS_PER_TOKEN


def _chunk_end(atoms: list[_Atom], first: int) -> int:
    """The number of the atom after the chunk that starts with `first`."""
    tokens = 0
    best, best_strength = first + 1, -1
    for number in range(first, len(atoms)):
        if (
            number > first
            and tokens >= CHUNK_TOKENS - LOOK_BACK_TOKENS
            and atoms[number].strength >= best_strength
        ):
            best, best_strength = number, atoms[number].strength
        tokens += atoms[number].tokens
        if tokens > CHUNK_TOKENS:
            return best if best_strength >= 0 else max(number, first + 1)
    return len(atoms)


def _overlap_start(atoms: list[_Atom], first: int, end: int) -> int:
    """The first atom of the next chunk, which repeats the last ones of this chunk and always gets further."""
    tokens = 0
    for number in range(end - 1, first, -1):
        tokens += atoms[number].tokens
        if tokens > OVERLAP_TOKENS:
            return number + 1
    return end


def _atoms(text: str) -> Iterator[_Atom]:
    start = at = 0
    fence = ""
    previous = "\n"
    for line in text.splitlines(keepends=True):
        mark = fence_mark(line, fence)
        if mark and fence:
            fence = ""
            yield _atom(text, start, at + len(line), 60)
        elif mark:
            fence, start = mark, at
        elif not fence:
            yield from _line_atoms(text, at, line, previous)
        at += len(line)
        previous = line
    if fence:  # CommonMark: a fence that is never closed ends with the document
        yield _atom(text, start, at, 60)


def _line_atoms(text: str, at: int, line: str, previous: str) -> Iterator[_Atom]:
    strength = _strength(line, previous)
    for piece in _pieces(line):
        yield _atom(text, at, at + len(piece), strength)
        at += len(piece)
        strength = 0


def _atom(text: str, start: int, end: int, strength: int) -> _Atom:
    return _Atom(start, end, token_count(text[start:end]), strength)


def _strength(line: str, previous: str) -> int:
    if heading := _HEADING.match(line):
        return 100 - 5 * len(heading[1])
    if _RULE.match(line):
        return 50
    if not previous.strip() and line.strip():
        return 20
    return 5 if _LIST_ITEM.match(line) else 1


def _pieces(text: str) -> Iterator[str]:
    """The lines of the text, those of more than a passage in parts that end with a word or a character."""
    for line in text.splitlines(keepends=True):
        while token_count(line) > PASSAGE_TOKENS:
            cut = _cut(line)
            if cut >= len(line):
                break
            yield line[:cut]
            line = line[cut:]
        yield line


def _cut(line: str) -> int:
    """Where to cut an overlong line: after the last word that fits, else between two characters."""
    limit = PASSAGE_TOKENS * (1 if count_unspaced(line[:PASSAGE_TOKENS]) else CHARACTERS_PER_TOKEN)
    ends = [found.end() for found in _BREAKS_IN_LINE.finditer(line, 1, limit)]
    cut = ends[-1] if ends else limit
    while cut < len(line) and _continues(line[cut - 1], line[cut]):
        cut += 1
    return cut


def _continues(before: str, character: str) -> bool:
    """Whether a reader sees both as one character: marks, joined emoji, skin tones, flags' second halves."""
    joiner, tones = "\u200d", "\U0001f3fb" <= character <= "\U0001f3ff"
    marks = unicodedata.category(character) in ("Mn", "Me", "Mc")
    flags = "\U0001f1e6" <= character <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff"
    return character == joiner or before == joiner or tones or marks or flags
