"""The list of characters that are not seen covers what Unicode says, as far as Python knows it."""

from __future__ import annotations

import re
import sys
import unicodedata

from pi_rank.characters import BLANKS, CONTROLS, INVISIBLE, JOINERS, LINE_BREAKS, SELECTORS

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]
# Format characters that have a glyph: they stand before the digits or words that they enclose.
SEEN_FORMATS = re.compile("[\u0600-\u0605\u06dd\u070f\u0890-\u0891\u08e2\U000110bd\U000110cd]")


def test_every_format_character_without_a_glyph_is_listed():
    listed = re.compile(f"[{INVISIBLE}{SELECTORS}{JOINERS}]")
    formats = [char for char in EVERY if unicodedata.category(char) == "Cf"]
    assert [
        hex(ord(char)) for char in formats if not listed.match(char) and not SEEN_FORMATS.match(char)
    ] == []


def test_every_control_and_surrogate_is_listed():
    listed = re.compile(f"[{CONTROLS}{LINE_BREAKS}\t]")
    controls = [char for char in EVERY if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]
    assert all(map(listed.match, controls))
    assert all(map(listed.match, map(chr, (0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE, 0x10FFFF))))


def test_fillers_and_blanks_that_python_takes_for_letters_or_symbols_are_listed():
    listed = re.compile(f"[{INVISIBLE}{BLANKS}]")
    fillers = [char for char in EVERY if re.search(r"HANGUL.*FILLER$", unicodedata.name(char, ""))]
    assert len(fillers) == 4
    assert all(map(listed.match, fillers))
    assert listed.match("\u2800")  # BRAILLE PATTERN BLANK


def test_letters_marks_and_emoji_are_not_listed():
    listed = re.compile(f"[{CONTROLS}{INVISIBLE}{BLANKS}{SELECTORS}{JOINERS}{LINE_BREAKS}]")
    assert not listed.search("azAZ09 é́ßяж中文字かな한글ไทย हिन्दी عربي 🚀👩⚠#<>[]()`~…›‹“”—\xa0\u3000")
