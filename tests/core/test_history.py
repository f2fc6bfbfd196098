from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_rank._core import history
from pi_rank.injection.history.dialects import PART_TYPES, STRANDS_KEYS
from pi_rank.injection.history.messages import view
from tests.injection.odd import CALLS_BESIDE, FOR_THIS_CALL, MARKS, TWO_KEYS, histories
from tests.injection.shapes import DIALECTS, assistant, user
from tests.reference import history as reference

CASES = st.sampled_from(DIALECTS).flatmap(lambda dialect: st.tuples(st.just(dialect), histories(dialect)))


@settings(max_examples=300, deadline=None)
@given(CASES, st.randoms(use_true_random=False))
def test_the_intact_marks_are_those_of_the_reference(case, random):
    dialect, messages = case
    blocks = [block for message in view(messages, dialect) for block in message.blocks]
    marked = [block for block in blocks if block.mark is not None and block.kind == "text"]
    verified = {history.text_key(block.text, block.mark.digest) for block in marked if random.random() < 0.7}
    assert verified == {
        reference.text_key(block.text, block.mark.digest)
        for block in marked
        if history.text_key(block.text, block.mark.digest) in verified
    }
    asked = ([], [])

    def look(number):
        return lambda message: asked[number].append(id(message)) or [{"id": "looked"}]

    found = history.intact_marks(messages, verified, look(0))
    assert found == reference.intact_marks(messages, verified, look(1))
    assert asked[0] == asked[1]


@settings(max_examples=300, deadline=None)
@given(st.lists(MARKS, max_size=6))
def test_the_gathered_records_are_those_of_the_reference(marks):
    found, expected = history.gather_records(marks, "pi"), reference.gather_records(marks, "pi")
    assert repr(found) == repr(expected)


@settings(max_examples=300, deadline=None)
@given(CASES)
@example(TWO_KEYS)
@example(CALLS_BESIDE)
@example(FOR_THIS_CALL)
def test_plain_messages_are_those_of_the_reference_key_order_included(case):
    dialect, messages = case
    before = repr(messages)
    asked = PART_TYPES.get(dialect, STRANDS_KEYS), dialect == "strands"
    found = history.plain_messages(messages, *asked)
    assert repr(found) == repr(reference.plain_messages(messages, *asked))
    assert repr(messages) == before
    for message in messages:
        if isinstance(message, dict):
            assert repr(history.plain_parts(message, *asked)) == repr(reference.plain_parts(message, *asked))
    ready = [message for message in found if message is not None]
    for key in ("text", "cache_control"):
        assert history.parts_with(ready, key) == reference.parts_with(ready, key)


@pytest.mark.parametrize("dialect", ["strands", "anthropic", "openai_responses"])
def test_usual_messages_are_plain_and_what_is_sent_is_no_list_of_the_callers(dialect):
    messages = [user("hi", dialect), assistant("ok", dialect)]
    kinds = {"type": "x", **PART_TYPES.get(dialect, STRANDS_KEYS)}
    found = history.plain_messages(messages, kinds, dialect == "strands")
    assert found == [{"role": message["role"], "content": message["content"]} for message in messages]
    assert all(a["content"] is not b["content"] for a, b in zip(found, messages, strict=True))
