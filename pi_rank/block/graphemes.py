"""Characters as a reader counts them: extended grapheme clusters, after UAX #29.

The standard library does not carry the property tables of the rules, so they are read off general categories:
combining marks and format characters extend, a joiner holds the symbol that follows it, conjoining jamo form
syllables, and regional indicators pair. A boundary is never reported inside an emoji, a flag or an accented
letter; scripts whose conjuncts need the Indic tables may be split between letters.
"""

from __future__ import annotations

import unicodedata

ZERO_WIDTH_JOINER = "\u200d"


def is_boundary(text: str, index: int) -> bool:
    """Whether a reader sees one character end, and the next begin, before `text[index]`."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\x7f" and after < "\x7f":
        return (before, after) != ("\r", "\n")
    if _extends(after):
        return unicodedata.category(before) in ("Cc", "Zl", "Zp")
    if before == ZERO_WIDTH_JOINER:
        return unicodedata.category(after) != "So"
    if _is_regional_indicator(before) and _is_regional_indicator(after):
        return _run_of_indicators(text, index) % 2 == 0
    return not _same_syllable(before, after)


def count_graphemes(text: str) -> int:
    """How many characters a reader counts in `text`."""
    if text.isascii():
        return len(text) - text.count("\r\n")
    return sum(is_boundary(text, index) for index in range(len(text)))


def prefix_within(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` that ends between characters and takes at most `max_bytes` of UTF-8."""
    if max_bytes <= 0:
        return ""
    end = len(text.encode()[:max_bytes].decode(errors="ignore"))
    while not is_boundary(text, end):
        end -= 1
    return text[:end]


def suffix_within(text: str, max_bytes: int) -> str:
    """The longest end of `text` that begins between characters and takes at most `max_bytes` of UTF-8."""
    if max_bytes <= 0:
        return ""
    start = len(text) - len(text.encode()[-max_bytes:].decode(errors="ignore"))
    while not is_boundary(text, start):
        start += 1
    return text[start:]


def _extends(char: str) -> bool:
    if char == ZERO_WIDTH_JOINER or char == "\u200c" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    return unicodedata.category(char) in ("Mn", "Me", "Mc") or "\U000e0020" <= char <= "\U000e007f"


def _is_regional_indicator(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _run_of_indicators(text: str, end: int) -> int:
    start = end
    while start > 0 and _is_regional_indicator(text[start - 1]):
        start -= 1
    return end - start


def _same_syllable(before: str, after: str) -> bool:
    """Conjoining jamo: leading, then leading, vowel or syllable; vowel, then vowel or trailing; trailing."""
    first, second = _jamo_kind(before), _jamo_kind(after)
    if first == "L":
        return second in ("L", "V", "LV", "LVT")
    if first in ("LV", "V"):
        return second in ("V", "T")
    return first in ("LVT", "T") and second == "T"


def _jamo_kind(char: str) -> str:
    if "\uac00" <= char <= "\ud7a3":
        return "LV" if (ord(char) - 0xAC00) % 28 == 0 else "LVT"
    for kind, first, last in (
        ("L", "\u1100", "\u115f"),
        ("V", "\u1160", "\u11a7"),
        ("T", "\u11a8", "\u11ff"),
    ):
        if first <= char <= last:
            return kind
    return ""
