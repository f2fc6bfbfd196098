"""Text that others wrote, made safe to stand inside one line of the block.

Nothing that a record, a log or a session says may end its line, start a heading, a code fence or a comment,
turn the reading direction, or carry text that a reader cannot see. What a line begins with is never theirs:
it is the label of a record, an item or a session, or the mark of a quotation (`pi_rank.block.lines`).
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from pi_rank.characters import BLANKS, CONTROLS, INVISIBLE, JOINERS, LINE_BREAKS, SELECTORS

MAX_CHARS = 6_000
"""Longer text is cut before it is looked at: no section has room for more bytes than this."""
MAX_NAME_CHARS = 100

_REPLACEMENT = "\ufffd"
_ID_DIGITS = 8
_NO_BRACKETS = str.maketrans("[]［］", "()()")
_BREAKS = f"\t{LINE_BREAKS}"
_ANGLES_OPEN, _ANGLES_CLOSE = "<＜﹤", ">＞﹥"

_CONTROL = re.compile(f"[{CONTROLS}]")
_UNSEEN = re.compile(f"[{CONTROLS}{INVISIBLE}{BLANKS}{SELECTORS}{JOINERS}]")
_HIDDEN = re.compile(f"[{INVISIBLE}]+")
_BLANK = re.compile(f"[{BLANKS}]")
_SHAPING = f"[{JOINERS}{SELECTORS}]"
# Joiners and selectors shape emoji and the letters of some scripts: never ASCII, except a keycap's base, ...
_MISPLACED = re.compile(
    f"(?:^|(?<=[\\s\x00-\x22$-)+-/:-\xa0])){_SHAPING}+|(?<=[#*0-9])(?!\ufe0f\u20e3){_SHAPING}+"
)
# ... and one of each is enough: a run of them spells a message that nobody sees.
_SHAPING_RUN = re.compile(f"([{SELECTORS}]?[{JOINERS}]?){_SHAPING}*")
_LOOSE_JOINER = re.compile(f"[{JOINERS}](?![^\\s\x00-\xa0])")
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
    """The name of a project: neutralised, short, without the blanks and brackets that would end it."""
    safe = _without_ends(text)
    return safe if len(safe) <= MAX_NAME_CHARS else safe[: MAX_NAME_CHARS - 1] + "…"


def neutralise_id(text: str) -> str:
    """The id of a record, as `neutralise_name`; ids that differ stay different.

    One that cannot be written as it is ends with `~` and the first digits of its SHA-256.
    """
    if text.isascii() and text.isidentifier() and len(text) <= MAX_NAME_CHARS:
        return text
    return _safe_id(text)


@lru_cache(maxsize=4_096)
def _safe_id(text: str) -> str:
    safe = _without_ends(text)
    if safe == text and len(safe) <= MAX_NAME_CHARS:
        return safe
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
    return f"{safe[: MAX_NAME_CHARS - _ID_DIGITS - 1]}~{digest}"


def _without_ends(text: str) -> str:
    return re.sub(r"\s+", "_", neutralise(text.translate(_NO_BRACKETS)))


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
    text = _MISPLACED.sub("", _HIDDEN.sub("", _BLANK.sub(" ", text)))
    return _LOOSE_JOINER.sub("", _SHAPING_RUN.sub(r"\1", text))


def _made_safe(match: re.Match[str]) -> str:
    return match[0].translate(_LOOKS_SAFE)
