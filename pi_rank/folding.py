"""Text as its words are compared: one folding, and one cutting of scripts without spaces, for all who search.

Records and queries, FTS5's tables, and the phrases of negative scope are folded alike: compatibility forms
and case (NFKC, casefold: full width, ligatures, ß and ss, final sigma), dotless i, vowel points of Hebrew and
Arabic, and characters that nobody sees, such as soft hyphens.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

# FTS5's, for all tables of folded text. Marks belong to words, or those of Hindi and Thai would fall apart.
TOKENIZER = "porter unicode61 categories 'L* N* Co Mn Mc'"
# Letters of the scripts that are written without spaces, by Unicode block.
UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han iteration and closing marks, and zero
    (0x3021, 0x3029),  # Han numerals
    (0x3031, 0x303C),  # kana repeat marks, Han numerals
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # small Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1AFF0, 0x1B16F),  # old and small kana
    (0x20000, 0x3FFFF),  # Han, the further planes
)
_WITH_MARKS = (*UNSPACED_BLOCKS[:3], (0x3099, 0x309A), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
_POINTS = (
    *((0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5), (0x05C7, 0x05C7)),  # Hebrew
    *((0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC)),  # Arabic
    *((0x06DF, 0x06E4), (0x06E7, 0x06E8), (0x06EA, 0x06ED)),
)
_UNSEEN = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x180B, 0x180E), (0x200C, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF)),
)
_DROPPED: dict[int, str | None] = {
    code: None for first, last in (*_POINTS, *_UNSEEN) for code in range(first, last + 1)
}
# The dot that casefold leaves of İ goes, and ı is i: Turkish words meet however they are typed.
_FOLDS = _DROPPED | {0x0307: None, 0x0131: "i", 0x200B: " "}

# FTS5 takes the accents of European letters away; one alone would be a word of no letters to it.
_ACCENTS = dict.fromkeys(range(0x0300, 0x0370))


def _ranges(blocks: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)


_MARKS = "".join(
    chr(code)
    for first, last in _WITH_MARKS
    for code in range(first, last + 1)
    if category(chr(code)) in ("Mn", "Mc")
)
# A letter of such a script with the marks upon it; decimal digits are no letters.
_LETTER = f"(?:(?=[^\\W\\d_])[{_ranges(UNSPACED_BLOCKS)}][{_MARKS}]*)"
_LETTERS = re.compile(_LETTER)
_HANGUL = "\uac00-\ud7a3"
_RUNS = re.compile(f"(?P<unspaced>{_LETTER}+)|[{_HANGUL}]+")
# One-syllable particles: 팀은 and 팀이 are both 팀.
_PARTICLES = frozenset("은는이가을를의에도만과와로")


def folded(text: str) -> str:
    """The text as it is compared, ASCII as it stands: whoever takes words out of it lowers their case."""
    if text.isascii():
        return text
    # Once more after casefold, which can undo composition.
    return normalize("NFKC", normalize("NFKC", text).casefold()).translate(_FOLDS)


def document_text(text: str) -> str:
    """The folded text of a document, with words that stand in a longer run made findable.

    A run of a script without spaces becomes its overlapping pairs and its last letter: 部署前 is
    "部署 署前 前", so that 部署 is found (a pair), 部 and 前 (beginnings), and the whole (neighbouring
    pairs). Korean words become their pairs of syllables, so that they are found with any particle or ending.
    """
    return text if text.isascii() else _RUNS.sub(lambda run: _cut(run, last=True), _without_accents(text))


def query_text(text: str) -> str:
    """As `document_text`, without the last letter, which would ask for a run's end."""
    return text if text.isascii() else _RUNS.sub(lambda run: _cut(run, last=False), _without_accents(text))


def count_unspaced(text: str) -> int:
    """How many letters of the text belong to scripts without spaces: each is about one token."""
    return 0 if text.isascii() else len(_LETTERS.findall(text))


def _without_accents(text: str) -> str:
    return folded(text).translate(_ACCENTS)


def _cut(run: re.Match[str], *, last: bool) -> str:
    korean = run["unspaced"] is None
    letters = run.group() if korean else _LETTERS.findall(run.group())
    pairs = [letters[at] + letters[at + 1] for at in range(len(letters) - 1)]
    if not pairs or (last and not korean):
        pairs.append(letters[-1])
    elif korean and len(letters) == 2 and letters[1] in _PARTICLES:
        pairs.append(letters[0])
    return f" {' '.join(pairs)} "
