"""Text that others wrote, made safe to stand inside a fence: it can neither close it nor pose as its lines.

Unlike the block's own lines (`pi_rank.block.neutral`), fenced text keeps its line breaks, indentation and
marks.
"""

from __future__ import annotations

import re
import unicodedata

_REPLACEMENT = "\ufffd"
# C0 but newline and tab, DEL, C1 (NEL ends a line), the Unicode line ends, lone surrogates.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Bidirectional controls, zero-width characters, fillers, and tags, which spell ASCII that nobody sees.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Joiners and selectors shape emoji and some scripts; after ASCII, at a line's start, or in a run they only
# hide.
_SHAPER = "\u200c\u200d\ufe00-\ufe0f"
_MISPLACED = re.compile(
    f"(?:(?<=[\x00-\xa0])|^)[{_SHAPER}]+|(?<=[{_SHAPER}][{_SHAPER}])[{_SHAPER}]+", re.MULTILINE
)
_OPEN, _CLOSE = "<＜﹤‹〈⟨❮《«", ">＞﹥›〉⟩❯》»"
_ANGLES = re.compile(f"[{_OPEN}](?:[^\\S\n]*[{_OPEN}]){{2,}}|[{_CLOSE}](?:[^\\S\n]*[{_CLOSE}]){{2,}}")
_DISARMED = str.maketrans(dict.fromkeys(_OPEN, "‹") | dict.fromkeys(_CLOSE, "›"))
_RULE = re.compile("={8,}")
# What opens a line of a fence. Matched on the line as it looks: full-width letters are letters.
_FENCE_LINE = re.compile(
    r"\s*(?:\[\s*hit\b|(?:source|kind|provenance)\s*=|(?:status|note|service|snippet)\s*:"
    r"|(?:…|\.{3})?\s*(?:memory\s+context\s+truncated|\d+\s+additional)|(?:end\s+)?memory\s+recall\b|(?:end\s+)?peer\s+contribution\b)",
    re.IGNORECASE,
)
_FIELD = re.compile(r";(?=\s*(?:source|kind|provenance)\s*=)", re.IGNORECASE)
QUOTED = "› "


def quote_text(text: str, limit: int) -> str:
    """Text of several lines, at most `limit` characters, cut with `…`.

    Control characters become U+FFFD, characters that nobody sees nothing, fence look-alikes `‹‹‹`. A line
    that
    looks like one of the fence's own is marked with `› `.
    """
    # Work is bounded by what can be shown; nothing below makes text much longer.
    safe = _visible(text[: 8 * limit])
    if "\n" in safe or _FENCE_LINE.match(_looks(safe)):
        safe = "\n".join(
            QUOTED + line if _FENCE_LINE.match(_looks(line)) else line for line in safe.split("\n")
        )
    return _clipped(safe, limit, cut=len(text) > 8 * limit)


def quote_field(text: str, limit: int) -> str:
    """Text of one line, at most `limit` characters: line breaks become spaces, and no `; source=` can be
    forged.
    """
    safe = " ".join(_visible(text[: 8 * limit]).split())
    return _clipped(_FIELD.sub(",", safe), limit, cut=len(text) > 8 * limit)


def _visible(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.isprintable():
        text = _INVISIBLE.sub("", _CONTROL.sub(_REPLACEMENT, text))
    if not text.isascii():
        text = _MISPLACED.sub("", text)
    text = _RULE.sub(lambda rule: "═" * len(rule[0]), text)
    return _ANGLES.sub(lambda angles: angles[0].translate(_DISARMED), text)


def _looks(line: str) -> str:
    head = line[:80]
    return head if head.isascii() else unicodedata.normalize("NFKC", head)


def _clipped(text: str, limit: int, *, cut: bool) -> str:
    return text[: limit - 1] + "…" if cut or len(text) > limit else text
