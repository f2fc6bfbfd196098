"""What is done the short way gives what the general way gives, for histories that nobody would write too."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_rank.injection import inject
from pi_rank.injection.novelty import parse_block
from pi_rank.injection.render import openai_messages, pin_rules, render, turns
from pi_rank.results import RetrievalContext
from tests.injection.memory import context, record
from tests.injection.odd import CALLS_BESIDE, FOR_THIS_CALL, TWO_KEYS, histories
from tests.injection.shapes import DIALECTS

CASES = st.sampled_from(DIALECTS).flatmap(lambda dialect: st.tuples(st.just(dialect), histories(dialect)))
OWN_MODELS = {  # of the provider whose dialect it is; the others have no short way
    "anthropic": [("anthropic", "claude-opus-5"), ("anthropic", "claude-3-5-haiku")],
    "strands": [("bedrock", "anthropic.claude-sonnet-4"), ("bedrock", "mistral.mistral-large")],
    "openai_chat": [("openai_chat", "gpt-5"), ("openai_chat", "gpt-3.5-turbo")],
    "openai_responses": [("openai_responses", "gpt-5")],
}
LINES = st.sampled_from(
    ["", "x", "# Title", "## Hard Rules", "## ", "##", "### x", "## Daily Log (2026-05-20)"]
)


@settings(max_examples=300, deadline=None)
@given(CASES, st.integers(0, 1), st.integers(0, 2))
@example(TWO_KEYS, 0, 1)
@example(CALLS_BESIDE, 0, 1)
@example(FOR_THIS_CALL, 0, 1)
def test_messages_sent_as_they_are_stored_are_what_the_general_way_makes_of_them(case, number, breakpoints):
    dialect, messages = case
    rules = pin_rules(*OWN_MODELS[dialect][number % len(OWN_MODELS[dialect])], breakpoints=breakpoints)
    short = render(messages, rules, dialect=dialect)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "plain_messages", lambda messages, dialect: [None] * len(messages))
        patch.setattr(openai_messages, "plain_parts", lambda raw, dialect: None)
        general = render(messages, rules, dialect=dialect)
    assert plain(short) == plain(general)


def plain(value):
    """A text that tells apart what JSON tells apart, the order of keys included, and what it cannot write."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {plain(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(plain, value)) + "]" if isinstance(value, list) else repr(value)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_a_block_is_cut_at_the_lines_that_are_headings(markdown):
    expected = []
    for line in markdown.split("\n"):
        if line.startswith("## "):
            expected.append((line, []))
        elif expected:
            expected[-1][1].append(line)
    found = [
        (section.heading, [line.text for line in section.lines])
        for section in parse_block(RetrievalContext(markdown=markdown))
    ]
    assert found == [(heading, "\n".join(lines).strip("\n").split("\n")) for heading, lines in expected]


@pytest.mark.parametrize("record_id", [r"a\1b", r"\g<x>", "\\", "a\\nb"])
def test_a_hard_rule_whose_id_has_a_backslash_is_named(record_id):
    messages = [{"role": "user", "content": "hi"}]
    rule = record(record_id, "Never push to main", rule_type="convention")
    assert f"[{record_id}, conf " in inject(messages, context(hard_rules=[rule]), source="pi").text
