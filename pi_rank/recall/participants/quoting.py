"""Text that others wrote, made safe to stand inside a fence: it can neither close it nor pose as its lines.

Unlike the block's own lines (`pi_rank.block.neutral`), fenced text keeps its line breaks, indentation and
marks.
"""

from __future__ import annotations

import re
import unicodedata

from pi_rank.characters import BLANKS, CONTROLS, INVISIBLE, JOINERS, SELECTORS

_REPLACEMENT = "\ufffd"
# Line ends other than the newline, too: a fenced line ends where the fence says so.
_CONTROL = re.compile(f"[{CONTROLS}\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(f"[{INVISIBLE}]+")
_BLANK = re.compile(f"[{BLANKS}]")
# Joiners and selectors shape emoji and some scripts; after ASCII, at a line's start, or in a run they only
# hide.
_SHAPER = f"{JOINERS}{SELECTORS}"
_MISPLACED = re.compile(
    f"(?:(?<=[\x00-\xa0\\s])|^)[{_SHAPER}]+|(?<=[{_SHAPER}][{_SHAPER}])[{_SHAPER}]+", re.MULTILINE
)
_OPEN, _CLOSE = "<＜﹤‹〈⟨❮《«", ">＞﹥›〉⟩❯》»"
_ANGLES = re.compile(f"[{_OPEN}](?:[^\\S\n]*[{_OPEN}]){{2,}}|[{_CLOSE}](?:[^\\S\n]*[{_CLOSE}]){{2,}}")
_DISARMED = str.maketrans(dict.fromkeys(_OPEN, "‹") | dict.fromkeys(_CLOSE, "›"))
_RULE = re.compile("={8,}")
# What opens a line of a fence, whatever stands in front of it. Matched on the line as it looks (`_looks`).
_FENCE_LINE = re.compile(
    r"[\W_]*(?:hit\b\W*\d|(?:source|kind|provenance|status|note|service|snippet|participant)[\W_]*[:=]"
    r"|[‹›](?:\s*[‹›]){2}|memory\s+context\s+truncated|\d+\s+additional\s+hit|(?:end\s+)?(?:memory\s+recall|peer\s+contribution)\b)"
)
# A head in letters that only look like ours may be any of these words: in doubt it is marked.
_FOREIGN_HEAD = re.compile(r"[^:=]{0,23}[^\x00-\x7f][^:=]{0,23}[:=]|[^\w]{0,3}\[[^\]]{0,12}[^\x00-\x7f]")
_LIKE_COLON = "\u02d0\u02f8\u0589\u05c3\u2236\ua789\ufe13\u205a"
_LIKE_EQUALS = "\u2550\u2e40\u30a0\ua78a"
_LIKE_BRACKET = "\u3010\u3014\u3016\u3018\u301a\u27e6\u2045\u2768\u276a\u276c\u2770\u2772\u2774"
_FOLDED = str.maketrans(
    dict.fromkeys(_LIKE_COLON, ":") | dict.fromkeys(_LIKE_EQUALS, "=") | dict.fromkeys(_LIKE_BRACKET, "[")
)
# A semicolon, or what looks like one, before one of the fence's keys, or a key in letters that look alike.
_FIELD = re.compile(
    "[;\u037e\u061b\ufe14\ufe54\uff1b]"
    r"(?=\s*(?:source|kind|provenance)\s*[^\w\s]|\s*[^\s=]{0,11}[^\x00-\x7f])",
    re.IGNORECASE,
)
QUOTED = "› "


def quote_text(text: str, limit: int) -> str:
    """Text of several lines, at most `limit` characters, cut with `…`.

    Control characters become U+FFFD, characters that nobody sees nothing, fence look-alikes `‹‹‹`. A line
    that may look like one of the fence's own is marked with `› `.
    """
    # Work is bounded by what can be shown; nothing below makes text much longer.
    safe = _visible(text[: 8 * limit])
    safe = "\n".join(QUOTED + line if _poses(line) else line for line in safe.split("\n"))
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
    if not text.isascii():
        text = _BLANK.sub(" ", _UNSEEN.sub("", text))
    if not text.isprintable():
        text = _CONTROL.sub(_REPLACEMENT, text)
    if not text.isascii():
        text = _MISPLACED.sub("", text)
    text = _RULE.sub(lambda rule: "═" * len(rule[0]), text)
    return _ANGLES.sub(lambda angles: angles[0].translate(_DISARMED), text)


def _poses(line: str) -> bool:
    """Whether a reader might take the line for one of the fence's own."""
    seen = _looks(line)
    return _FENCE_LINE.match(seen) is not None or (
        not seen.isascii() and _FOREIGN_HEAD.match(seen) is not None
    )


def _looks(line: str) -> str:
    """The head of a line as it looks: no accents, no width, no case, one kind of colon and of bracket."""
    head = line.lstrip()[:80]
    if head.isascii():
        return head.lower()
    plain = unicodedata.normalize("NFKD", head)
    return "".join(char for char in plain if not unicodedata.combining(char)).casefold().translate(_FOLDED)


def _clipped(text: str, limit: int, *, cut: bool) -> str:
    return text[: limit - 1] + "…" if cut or len(text) > limit else text
