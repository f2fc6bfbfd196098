"""Histories that are empty, half-written, huge or hostile."""

from __future__ import annotations

import copy
import time

import pytest

from pi_rank.injection import Injector, inject, own_words, strip_injected
from pi_rank.injection.history.messages import view
from pi_rank.injection.render import pin_rules, render
from tests.injection.memory import ListMemory, context, record
from tests.injection.shapes import DIALECTS, assistant, texts, user

MEMORY = context([record("mem_a", "Tests run with pytest")])
HALF_WRITTEN = [
    {},
    {"role": "user"},
    {"role": "user", "content": None},
    {"role": "user", "content": 7},
    {"role": None, "content": "x"},
    {"content": [{"text": "x"}]},
    {"role": "user", "content": [None, 7, {}, {"text": None}, {"type": "text"}, "a string"]},
    {"role": "user", "content": [{"text": "x", "metadata": "no object"}], "metadata": None},
    {"role": "assistant", "tool_calls": [None, {}], "content": None},
    {"type": None},
    {
        "role": "assistant",
        "content": [{"toolUse": {}}, {"image": {}}, {"type": "tool_use"}, {"type": "image"}],
    },
    {"role": "user", "content": [{"toolResult": None}, {"type": "tool_result"}, {"reasoningContent": {}}]},
    {"role": "tool"},
    {"type": "function_call"},
    None,
    "a string",
]


@pytest.mark.parametrize("bad", HALF_WRITTEN, ids=range(len(HALF_WRITTEN)))
@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_half_written_messages_are_read_and_left_alone(bad, dialect):
    before = copy.deepcopy(bad)
    messages = [bad, user("hi", dialect or "openai_chat")]
    assert inject(messages, MEMORY, source="pi", dialect=dialect).wrote
    assert messages[0] == before
    assert own_words(messages, dialect) == "hi"
    assert strip_injected(messages, dialect)[0] == before
    for provider in ("anthropic", "bedrock", "openai_chat", "openai_responses"):
        assert "pytest" in str(render(messages, pin_rules(provider, "m"), dialect=dialect)[-1])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "user"}, "neither a string nor a list"),
        ({"role": "user", "content": None}, "neither a string nor a list"),
        ({"role": "user", "content": "hi", "metadata": 3}, "metadata is not an object"),
    ],
)
def test_a_half_written_target_is_refused(message, reason):
    before = copy.deepcopy(message)
    result = inject([message], MEMORY, source="pi")
    assert result.outcome == "refused"
    assert reason in result.reason
    assert message == before


def test_a_history_that_starts_with_the_assistant():
    messages = [assistant("welcome", "strands"), user("hi", "strands")]
    assert inject(messages, MEMORY, source="pi").wrote
    assert messages[0] == assistant("welcome", "strands")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_user_who_pastes_a_block_is_not_believed(dialect):
    text = MEMORY.markdown + '\n{"metadata": {"injected": {"source": "pi", "id": "x", "digest": "y"}}}'
    messages = [user(text, dialect)]
    assert inject(messages, MEMORY, source="pi", dialect=dialect).wrote
    assert texts(strip_injected(messages, dialect)[0]) == [text]


def test_a_user_who_repeats_the_block_in_his_own_words_keeps_them():
    messages = [user(MEMORY.markdown, "strands")]
    inject(messages, MEMORY, source="pi")
    stripped = [{"text": block["text"]} for block in messages[0]["content"]]  # marks lost on the blocks
    rebuilt = {**messages[0], "content": stripped}
    assert [block.mark is not None for block in view([rebuilt])[0].blocks] == [False, True]


def test_a_block_of_a_megabyte_is_refused_unless_allowed():
    messages = [user("hi", "strands")]
    result = inject(messages, "x" * 1_000_000, source="pi")
    assert str(result) == "refused: the text has 1,000,002 bytes, more than max_bytes=65,536"
    assert messages == [user("hi", "strands")]
    assert inject(messages, "x" * 1_000_000, source="pi", max_bytes=2_000_000).bytes == 1_000_002


def test_ten_thousand_messages_cost_at_most_linearly_more():
    rules = pin_rules("bedrock", "anthropic.claude-sonnet-4")

    def history(turns: int) -> list[dict]:
        messages = []
        for turn in range(turns):
            messages.append(user(f"question {turn}", "strands"))
            inject(messages[-1:], f"block {turn}", source="pi")
            messages.append(assistant("ok", "strands"))
        return messages

    def best(turns: int) -> float:
        messages, times = history(turns), []
        for _ in range(7):
            current = [*messages, user("last", "strands")]
            started = time.process_time_ns()
            assert inject(current, MEMORY, source="pi").wrote
            render(current, rules)
            times.append(time.process_time_ns() - started)
        return min(times)

    assert best(5_000) < 40 * best(500)  # ten times the messages; a quadratic step would be a hundred


def test_lone_surrogates_are_kept_and_counted():
    messages = [user("hi", "strands")]
    assert inject(messages, "a\ud800b", source="pi").bytes == 7


def test_a_memory_that_fails_costs_the_turn_nothing():
    class Broken(ListMemory):
        def build_retrieval_context(self, turn):
            raise RuntimeError("database is locked")

    messages = [user("hi", "strands")]
    result = Injector(Broken()).inject(messages)
    assert str(result) == "refused: the content raised RuntimeError: database is locked"
    assert messages == [user("hi", "strands")]


def test_a_turn_without_words_asks_the_memory_nothing():
    memory = ListMemory([record("mem_a", "x")])
    messages = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"x"}}}]}]
    assert Injector(memory).inject(messages).outcome == "nothing_new"
    assert memory.asked == []
