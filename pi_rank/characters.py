"""Characters that a reader does not see or takes for a blank: one list for all that quotes others' text.

The strings are parts of a regular expression's character class. Unicode calls most of these
Default_Ignorable_Code_Point (DerivedCoreProperties.txt); Python's `str.isprintable` and `str.isspace` know
only some of them.
"""

from __future__ import annotations

import re
import unicodedata

LINE_BREAKS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17)
)
# C0 and C1 without tab and line breaks, lone surrogates, and what is never a character.
CONTROLS = f"\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff{_NONCHARACTERS}"
# Bidirectional controls, zero-width characters, fillers, marks of notations that alone show nothing, and the
# tag block, which spells ASCII invisibly.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U00013440\U00013447-\U00013455\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# They shape emoji and the letters of some scripts: seen beside those, hidden anywhere else.
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
JOINERS = "\u200c\u200d"
# They look like a space and are letters or symbols to Python.
BLANKS = "\u2800\U0001d159\U00013441\U00013442"


def one_line(text: str) -> str:
    """The text with each run of control, format and white space, and of what nobody sees, as one space."""
    seen = text if text.isascii() else _UNSEEN.sub(" ", text)
    return " ".join("".join(" " if unicodedata.category(c) in _UNPRINTABLE else c for c in seen).split())


_UNSEEN = re.compile(f"[{INVISIBLE}{BLANKS}]")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
