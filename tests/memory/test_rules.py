from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.memory.rules import rule_label, rule_word


@pytest.mark.parametrize(
    ("rule_type", "label"),
    [
        ("avoid_pattern", "AVOID: "),
        ("prefer_pattern", "PREFER: "),
        ("convention", "CONVENTION: "),
        ("correction", "RULE: "),
        ("workflow", "[workflow] "),
        ("anti_pattern", "[anti_pattern] "),
        ("不要", "[不要] "),
        ("never do this", "[never_do_this] "),
        ("\n## Hard Rules\n", "[Hard_Rules] "),
        ("x" * 200, f"[{'x' * 40}] "),
        ("\u202e\u200b", ""),
        ("\u3164", ""),
        (" ", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_labels(rule_type, label):
    assert rule_label(rule_type) == label
    assert rule_label(rule_type, "contested") == f"CONTESTED: {label}"
    assert rule_label(rule_type, "superseded") == label


@given(st.text(max_size=60))
def test_a_word_never_ends_its_line_or_its_bracket(rule_type):
    word = rule_word(rule_type)
    assert word == "" or (word.isprintable() and not set(word) & set(" \t\n[]<>#`~()") and len(word) <= 40)
