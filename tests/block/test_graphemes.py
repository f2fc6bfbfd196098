from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.block.graphemes import count_graphemes, is_boundary, prefix_within, suffix_within

FAMILY = "👨‍👩‍👧‍👦"
ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]))
TRICKY = st.text(st.sampled_from("a\u0301\u200d👨👩🏽🇫🇷한ᄒ\u1161\u11ab\ufe0f🚀部\r\n"), max_size=40)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("abc", 3),
        ("a\r\nb", 3),
        ("e\u0301", 1),
        (FAMILY, 1),
        ("👌🏽", 1),
        ("🇫🇷🇩🇪", 2),
        ("🇫🇷🇩", 2),
        ("❤️‍🔥", 1),
        ("1️⃣", 1),
        ("한국", 2),
        ("\u1112\u1161\u11ab", 1),
        ("部署", 2),
        ("हाँ", 1),
        ("\n\u0301", 2),
    ],
)
def test_count(text, count):
    assert count_graphemes(text) == count


def test_cuts_keep_characters_whole():
    assert prefix_within(f"ab{FAMILY}c", 20) == "ab"
    assert prefix_within(f"ab{FAMILY}c", 2 + len(FAMILY.encode())) == f"ab{FAMILY}"
    assert suffix_within(f"ab{FAMILY}c", 20) == "c"
    assert suffix_within("e\u0301", 2) == ""
    assert prefix_within("🇫🇷🇩🇪", 12) == "🇫🇷"
    assert prefix_within("部署", 5) == "部"
    assert prefix_within("abc", 0) == suffix_within("abc", -1) == ""


@given(ENCODABLE | TRICKY, st.integers(0, 60))
def test_cuts_are_longest_and_on_boundaries(text, max_bytes):
    head, tail = prefix_within(text, max_bytes), suffix_within(text, max_bytes)
    bounds = [i for i in range(len(text) + 1) if is_boundary(text, i)]
    assert head == text[: max(i for i in bounds if len(text[:i].encode()) <= max_bytes)]
    assert tail == text[min(i for i in bounds if len(text[i:].encode()) <= max_bytes) :]


@given(ENCODABLE | TRICKY)
def test_count_is_the_number_of_pieces(text):
    assert count_graphemes(text) == sum(is_boundary(text, i) for i in range(len(text)))
