"""One line of Markdown as the words in it, and the tags by which people mark a decision."""

from __future__ import annotations

import re

# A letter or digit of a script that sets words apart. The others begin at U+2E80: there a tag may stand right
# beside a word.
_LETTER = "[^\\W_\u2e80-\U0010ffff]"
# The case of the two words alone: that of a range to Unicode's end costs a cold start a tenth of its time.
_TAG = f"(?<!{_LETTER})#(?i:decision|key)(?!_*{_LETTER})"
DECISION_TAG = re.compile(_TAG)

MAX_CHARS = 1_000
_TAG_IN_BRACKETS = re.compile(f"[(（\\[【]\\s*{_TAG}\\s*[)）\\]】]|{_TAG}")
_TAG_ENDS = " \t:：,，;；-–—"
_LEAD = re.compile(r"(?:[-*+>]|#{1,6}|\d{1,9}[.)]|\[[ xX]\])\s+")
_LINK = re.compile(r"!?\[([^][]*)\]\([^()\s]*\)")
_CODE = re.compile(r"(`+)(.+?)\1")
# Emphasis stands at the edges of words: `a*b` and `snake_case_name` have none.
_EMPHASIS = re.compile(r"(?<![^\W_])(\*{1,3}|_{1,3}|~~)(?=[^\s*_])(.+?)(?<=\S)\1(?![^\W_])")


def plain(line: str) -> str:
    """The words of a line, without the marks of lists, headings, quotes, emphasis, code and links.

    A `#decision` or `#key` goes too, with the colon behind it: in a list of decisions it says nothing. A line
    longer than `MAX_CHARS` is cut first.
    """
    text = line.strip()[:MAX_CHARS]
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    text = _CODE.sub(r"\2", _LINK.sub(r"\1", text))
    before = ""
    while before != text:  # emphasis inside emphasis
        before, text = text, _EMPHASIS.sub(r"\2", text)
    untagged, tags = _TAG_IN_BRACKETS.subn(" ", text)
    return " ".join(untagged.split()).strip(_TAG_ENDS) if tags else text
