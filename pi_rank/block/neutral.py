"""Text that others wrote, made safe to stand inside one line of the block.

Nothing that a record, a log or a session says may end its line, start a heading, a code fence or a comment,
turn the reading direction, or carry text that a reader cannot see.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_CHARS = 6_000
"""Longer text is cut before it is looked at: no section has room for more bytes than this."""
MAX_NAME_CHARS = 100

_REPLACEMENT = "\ufffd"
_BREAKS = "\n\r\t\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_CONTROLS = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff"
# Bidirectional controls, zero-width characters, fillers, and the tag block, which spells ASCII invisibly.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\U000e01f0-\U000e0fff"
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINERS = "\u200c\u200d"
_ANGLES_OPEN, _ANGLES_CLOSE = "<＜﹤", ">＞﹥"

_CONTROL = re.compile(f"[{_CONTROLS}]")
_UNSEEN = re.compile(f"[{_CONTROLS}{_INVISIBLE}{_SELECTORS}{_JOINERS}]")
_HIDDEN = re.compile(f"[{_INVISIBLE}]+")
_SHAPING = f"[{_JOINERS}{_SELECTORS}]"
# Joiners and selectors shape emoji and the letters of some scripts: never ASCII, except a keycap's base, ...
_MISPLACED = re.compile(
    f"(?:^|(?<=[\x00-\x22$-)+-/:-\xa0])){_SHAPING}+|(?<=[#*0-9])(?!\ufe0f\u20e3){_SHAPING}+"
)
# ... and one of each is enough: a run of them spells a message that nobody sees.
_SHAPING_RUN = re.compile(f"([{_SELECTORS}]?[{_JOINERS}]?){_SHAPING}*")
_LOOSE_JOINER = re.compile(f"[{_JOINERS}](?![^\x00-\xa0])")
_HEADING = re.compile(f"(?:^|(?<=[{_BREAKS}]))[^\\S{_BREAKS}]*#{{1,6}}(?=\\s|$)|(?<=\\s)#{{2,6}}(?=\\s|$)")
_FENCE = re.compile(
    f"`(?:\\s?`){{2,}}|~(?:\\s?~){{2,}}|<!--|-->"
    f"|[{_ANGLES_OPEN}](?:\\s?[{_ANGLES_OPEN}]){{2,}}|[{_ANGLES_CLOSE}](?:\\s?[{_ANGLES_CLOSE}]){{2,}}"
)
_NOTE_HEADING = re.compile(r"(#{1,6})\s+(.*)", re.DOTALL)
_UNDERLINE = re.compile("=+|-+")
_FENCE_PART = re.compile(f"[`~{_ANGLES_OPEN}{_ANGLES_CLOSE}]")
_LOOKS_SAFE = str.maketrans(
    {"#": "＃", "`": "'", "~": "∼"} | dict.fromkeys("<＜﹤", "‹") | dict.fromkeys(">＞﹥", "›")
)


def neutralise(text: str) -> str:
    """`text` as one visible line of valid UTF-8.

    Blanks and line breaks become one space, control characters and lone surrogates U+FFFD, and characters
    that nobody sees nothing. Heading marks become full-width, fences (``` ~~~ <<< >>> and comments)
    look-alikes that open nothing.
    """
    return _neutral_line(text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…")


def neutralise_name(text: str) -> str:
    """An id or a project: neutralised, short, without the blanks and brackets that would end it."""
    if text.isidentifier() and len(text) <= MAX_NAME_CHARS and text.isascii():
        return text
    safe = re.sub(r"\s+", "_", neutralise(text)).replace("[", "(").replace("]", ")")
    return safe if len(safe) <= MAX_NAME_CHARS else safe[: MAX_NAME_CHARS - 1] + "…"


def neutralise_note(line: str) -> str:
    """One line of a user's notes: neutralised, its heading kept but never of the level of the block's own.

    Levels one and two become three; an underline that would turn the line above into a heading is escaped.
    """
    stripped = line.strip()
    heading = _NOTE_HEADING.match(stripped)
    if heading is not None:
        return f"{heading[1]:#<3} {neutralise(heading[2])}".rstrip()
    safe = neutralise(stripped)
    return f"\\{safe}" if _UNDERLINE.fullmatch(safe) else safe


@lru_cache(maxsize=4_096)
def _neutral_line(text: str) -> str:
    # Each rule is behind a test that costs next to nothing: most text breaks none of them.
    if not (text.isascii() and text.isprintable()) and _UNSEEN.search(text):
        text = _without_hidden(_CONTROL.sub(_REPLACEMENT, text))
    if "#" in text:
        text = _HEADING.sub(_made_safe, text)
    text = " ".join(text.split())
    return _FENCE.sub(_made_safe, text) if _FENCE_PART.search(text) else text


def _without_hidden(text: str) -> str:
    text = _MISPLACED.sub("", _HIDDEN.sub("", text))
    return _LOOSE_JOINER.sub("", _SHAPING_RUN.sub(r"\1", text))


def _made_safe(match: re.Match[str]) -> str:
    return match[0].translate(_LOOKS_SAFE)
