"""Behaviours 1 to 8: what is written, where, and what stays as it was."""

from __future__ import annotations

import copy
import json
import logging
from typing import Any

import pytest

from pi_rank.errors import ContextError
from pi_rank.injection import inject
from tests.injection.memory import context, record
from tests.injection.shapes import DIALECTS, assistant, texts, tool_call, tool_result, user

BLOCK = (
    "# Persistent Intelligence Context\n\n## Selected Memory\n- mem_a [L2, conf 0.90] Tests run with pytest"
)
MEMORY = context([record("mem_a", "Tests run with pytest")])


def history(dialect: str) -> list[dict[str, Any]]:
    return [
        user("hello", dialect),
        *tool_call("t1", dialect=dialect),
        *tool_result("t1", dialect=dialect),
        assistant("hi", dialect),
        user("how do I run the tests?", dialect),
    ]


def as_bytes(messages: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in messages]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_01_text_is_appended_once_to_the_latest_user_message_and_marked(dialect):
    messages = history(dialect)
    result = inject(messages, MEMORY, source="pi")
    assert result.outcome == "written"
    assert result.message_index == len(messages) - 1
    assert texts(messages[-1]) == ["how do I run the tests?", "\n\n" + BLOCK]
    mark = messages[-1]["content"][-1]["metadata"]["injected"]
    assert (mark["source"], mark["record_ids"], mark["rendering"]) == ("pi", ["mem_a"], "text")
    assert mark["id"] == result.block_id
    assert messages[-1]["metadata"]["injected"] == [mark]


def test_behaviour_01_a_string_content_stays_a_string():
    messages = [{"role": "user", "content": "run the tests"}]
    inject(messages, MEMORY, source="pi")
    assert messages[0]["content"] == "run the tests\n\n" + BLOCK
    assert messages[0]["metadata"]["injected"][0]["start"] == 13


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_02_the_call_that_writes_already_sends_it(dialect):
    messages = history(dialect)
    result = inject(messages, MEMORY, source="pi")
    assert result.outgoing is messages
    assert texts(result.outgoing[-1])[-1] == result.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_03_later_calls_send_the_same_bytes(dialect):
    messages = history(dialect)
    inject(messages, MEMORY, source="pi")
    sent = as_bytes(messages)
    for turn in range(3):
        messages += [assistant(f"answer {turn}", dialect), user(f"question {turn}", dialect)]
        inject(messages, context([record(f"mem_{turn}", f"Fact {turn}")]), source="pi")
        assert as_bytes(messages)[: len(sent)] == sent
        sent = as_bytes(messages)


def test_behaviour_04_request_and_stored_history_are_the_same_after_the_write():
    messages = history("strands")
    result = inject(messages, MEMORY, source="pi")
    assert as_bytes(result.outgoing) == as_bytes(messages)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_05_no_earlier_message_and_no_earlier_block_changes(dialect):
    messages = history(dialect)
    before = copy.deepcopy(messages)
    inject(messages, MEMORY, source="pi")
    assert messages[:-1] == before[:-1]
    assert messages[-1]["content"][:-1] == before[-1]["content"]


def test_behaviour_05_a_request_in_flight_keeps_its_content():
    messages = history("anthropic")
    in_flight = [dict(message) for message in messages]
    inject(messages, MEMORY, source="pi")
    assert in_flight[-1] == user("how do I run the tests?", "anthropic")


@pytest.mark.parametrize(
    ("messages", "content", "outcome"),
    [
        ([], MEMORY, "no_user_message"),
        ([{"role": "assistant", "content": "hi"}], MEMORY, "no_user_message"),
        ([{"role": "system", "content": "be brief"}], MEMORY, "no_user_message"),
        ([user("ok", "strands")], context(), "nothing_new"),
        ([user("ok", "strands")], "  \n", "nothing_new"),
        ([user("ok", "strands")], None, "nothing_new"),
    ],
)
def test_behaviour_06_no_user_message_or_an_empty_render_writes_nothing(messages, content, outcome):
    before = copy.deepcopy(messages)
    assert inject(messages, content, source="pi").outcome == outcome
    assert messages == before


def test_behaviour_07_a_render_that_raises_is_skipped_with_a_warning(caplog):
    def broken() -> str:
        raise OSError("disk gone")

    messages = [user("hello", "strands")]
    with caplog.at_level(logging.WARNING, "pi_rank.injection"):
        result = inject(messages, broken, source="pi")
    assert str(result) == "refused: the content raised OSError: disk gone"
    assert messages == [user("hello", "strands")]
    assert [entry.levelname for entry in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_08_injectors_append_one_block_each_in_order_and_a_second_run_adds_none(dialect):
    messages = history(dialect)
    for _ in range(2):
        for source in ("first", "second", "third"):
            inject(messages, f"text of {source}", source=source)
    assert texts(messages[-1]) == [
        "how do I run the tests?",
        "\n\ntext of first",
        "\n\ntext of second",
        "\n\ntext of third",
    ]


def test_behaviour_08_also_in_a_string_content():
    messages = [{"role": "user", "content": "hi"}]
    for _ in range(2):
        for source in ("first", "second"):
            inject(messages, f"text of {source}", source=source)
    assert messages[0]["content"] == "hi\n\ntext of first\n\ntext of second"


@pytest.mark.parametrize(
    ("argument", "value"),
    [("mode", "once"), ("trigger", "never"), ("rendering", "html"), ("secrets", "keep")],
)
def test_an_unknown_option_names_the_known_ones(argument, value):
    with pytest.raises(ContextError, match=f"{argument}='{value}' is unknown: use one of"):
        inject([user("hi", "strands")], "text", source="pi", **{argument: value})


def test_a_source_needs_a_name():
    with pytest.raises(ContextError, match="source must be a name"):
        inject([user("hi", "strands")], "text", source="")
