from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.block.plain import DECISION_TAG, MAX_CHARS, plain


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("  > ## 1. **bold**, *slanted* and _slanted_", "bold, slanted and slanted"),
        ("- [x] ***all*** of ~~it~~", "all of it"),
        ("use `bun run`, ``a`b`` and [docs](http://x)", "use bun run, a`b and docs"),
        ("snake_case_name, a*b, 2 * 3, *open, __dunder__", "snake_case_name, a*b, 2 * 3, *open, dunder"),
        ("#decision: keep bun", "keep bun"),
        ("keep bun — #decision", "keep bun"),
        ("（#key）轮换密钥", "轮换密钥"),
        ("完成部署。#decision", "完成部署。"),
        ("**#decision**", ""),
        ("", ""),
    ],
)
def test_words_of_a_line(line, words):
    assert plain(line) == words


@given(st.text(st.sampled_from("*_`~#[]() -+>ab部。\n") | st.characters(), max_size=200))
def test_nothing_is_invented_and_no_tag_is_left(line):
    words = plain(line)
    letters = iter(line)
    assert all(letter in letters for letter in words if not letter.isspace())
    assert not DECISION_TAG.search(words)


@pytest.mark.parametrize("text", ["*" * 100_000, "[" * 100_000, "`a" * 50_000, "_a " * 50_000, "> " * 50_000])
def test_a_long_line_is_cut_first(text):
    assert len(plain(text)) <= MAX_CHARS
