"""Behaviours 9 to 15: a block is written once, and the conversation itself says whether it was."""

from __future__ import annotations

import copy
import json
import threading

import pytest

from pi_rank.injection import inject
from pi_rank.injection.history.messages import Message
from tests.injection.memory import context, record
from tests.injection.shapes import DIALECTS, assistant, texts, tool_call, tool_result, user

MEMORY = context([record("mem_a", "Tests run with pytest")])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_09_retry_tool_loop_and_resume_write_nothing(dialect):
    messages = [user("run the tests", dialect)]
    assert inject(messages, MEMORY, source="pi", dialect=dialect).wrote
    assert inject(messages, MEMORY, source="pi", dialect=dialect).outcome == "already_written"  # retry
    for step in ("t1", "t2"):
        messages += tool_call(step, dialect=dialect)
        messages += tool_result(step, dialect=dialect)
        before = copy.deepcopy(messages)
        assert inject(messages, MEMORY, source="pi", dialect=dialect).outcome == "already_written"
        assert messages == before
    resumed = json.loads(json.dumps(messages))
    assert inject(resumed, MEMORY, source="pi", dialect=dialect).outcome == "already_written"


def test_behaviour_09_the_content_is_not_even_asked_for():
    messages = [user("run the tests", "strands")]
    inject(messages, MEMORY, source="pi")
    asked = []
    inject(messages, lambda: asked.append(1), source="pi")
    assert asked == []


def test_behaviour_10_the_conversation_says_what_is_written_not_the_injector():
    messages = [user("run the tests", "strands")]
    result = inject(messages, MEMORY, source="pi")
    assert messages[0]["tracking_id"] == result.tracking_id
    # The same message by tracking id, its block gone: another restore point. Written again.
    rewound = [{**user("run the tests", "strands"), "tracking_id": result.tracking_id}]
    assert inject(rewound, MEMORY, source="pi").wrote


def test_behaviour_10_a_tracking_id_that_is_there_is_kept():
    messages = [{**user("hi", "strands"), "tracking_id": "b4c1"}]
    assert inject(messages, MEMORY, source="pi").tracking_id == "b4c1"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_11_restored_without_state_it_is_found(dialect):
    messages = [user("run the tests", dialect)]
    inject(messages, MEMORY, source="pi", dialect=dialect)
    restored = json.loads(json.dumps(messages))
    assert inject(restored, MEMORY, source="pi", dialect=dialect).outcome == "already_written"
    assert restored == json.loads(json.dumps(messages))


def test_behaviour_12_rewound_messages_are_written_again():
    messages = [user("run the tests", "strands")]
    before = copy.deepcopy(messages)
    inject(messages, MEMORY, source="pi")
    first = copy.deepcopy(messages)
    messages[:] = before
    assert inject(messages, MEMORY, source="pi").wrote
    assert texts(messages[0]) == texts(first[0])


@pytest.mark.parametrize("kept", [0, 1])
def test_behaviour_13_only_the_trailing_run_of_blocks_counts(kept):
    older, newer = user("first question", "strands"), user("second question", "strands")
    inject([older], MEMORY, source="pi")
    newer["tracking_id"] = "newer"
    merged = {
        "role": "user",
        "content": [*older["content"], *newer["content"]],
        "tracking_id": (older, newer)[kept]["tracking_id"],
    }
    result = inject([merged], context([record("mem_b", "Lint with ruff")]), source="pi")
    assert result.wrote
    assert [text.strip().split("\n")[-1] for text in texts(merged)] == [
        "first question",
        "- mem_a [L2, conf 0.90] Tests run with pytest",
        "second question",
        "- mem_b [L2, conf 0.90] Lint with ruff",
    ]
    assert inject([merged], MEMORY, source="pi").outcome == "already_written"


def test_behaviour_13_a_merge_of_strings_leaves_the_older_block_in_the_middle():
    older = {"role": "user", "content": "first question"}
    inject([older], MEMORY, source="pi")
    merged = {**older, "content": older["content"] + "\nsecond question"}
    assert inject([merged], context([record("mem_b", "Lint with ruff")]), source="pi").wrote
    pieces = Message(merged, "openai_chat").blocks
    assert [piece.mark is not None for piece in pieces] == [False, True, False, True]
    assert "".join(piece.text for piece in pieces) == merged["content"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_14_code_that_rebuilds_a_text_block_keeps_the_mark(dialect):
    messages = [user("run the tests", dialect)]
    inject(messages, MEMORY, source="pi", dialect=dialect)
    kept = {key for key in messages[0]["content"][0] if key != "metadata"}
    rebuilt = {
        **messages[0],
        "content": [{key: block[key] for key in kept} for block in messages[0]["content"]],
    }
    assert "metadata" not in rebuilt["content"][-1]
    assert inject([rebuilt], MEMORY, source="pi", dialect=dialect).outcome == "already_written"
    assert [block.mark is not None for block in Message(rebuilt, dialect).blocks] == [False, True]


def test_behaviour_15_a_clock_in_the_text_does_not_write_twice_in_one_turn():
    messages = [user("hi", "strands")]
    assert inject(messages, "It is 12:00:00", source="clock").wrote
    assert inject(messages, "It is 12:00:01", source="clock").outcome == "already_written"
    messages += [assistant("hello", "strands"), user("and now?", "strands")]
    assert inject(messages, "It is 12:00:09", source="clock").wrote
    assert [texts(message)[1:] for message in messages if message["role"] == "user"] == [
        ["\n\nIt is 12:00:00"],
        ["\n\nIt is 12:00:09\n(replaces the earlier text of clock)"],
    ]


def test_an_answered_message_is_never_written_to():
    messages = [user("hi", "openai_chat"), assistant("hello", "openai_chat")]
    result = inject(messages, MEMORY, source="pi")
    assert str(result) == "refused: the latest user message is answered, and must stay as it was sent"


def test_two_injectors_with_one_name_write_one_block():
    messages = [user("hi", "strands")]
    assert inject(messages, "from one", source="pi").wrote
    assert inject(messages, "from another", source="pi").outcome == "already_written"


def test_concurrent_injection_writes_one_block_per_source():
    messages = [user("hi", "strands")]
    ready = threading.Barrier(8)

    def run(index: int) -> None:
        ready.wait()
        inject(messages, f"text {index % 2}", source=f"source {index % 2}")

    threads = [threading.Thread(target=run, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts(messages[0])) == ["\n\ntext 0", "\n\ntext 1", "hi"]
