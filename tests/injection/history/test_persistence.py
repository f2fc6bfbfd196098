"""Behaviours 29 to 32: a block outlives save and load, and people do not see it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from pi_rank.injection import inject, strip_injected
from pi_rank.injection.history.messages import view
from pi_rank.injection.render import pin_rules, render
from tests.injection.memory import context, record
from tests.injection.shapes import DIALECTS, assistant, texts, user

PROVIDER = {
    "strands": "bedrock",
    "anthropic": "anthropic",
    "openai_chat": "openai_chat",
    "openai_responses": "openai_responses",
}
MEMORY = context([record("mem_a", "Tests run with pytest")])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_29_the_block_survives_a_store_that_writes_each_message_once(dialect):
    store = sqlite3.connect(":memory:")
    store.execute("CREATE TABLE messages (body TEXT)")
    messages, sent = [], []
    for turn in range(3):
        messages.append(user(f"question {turn}", dialect))
        inject(messages, context([record(f"mem_{turn}", f"Fact {turn}")]), source="pi", dialect=dialect)
        store.execute("INSERT INTO messages VALUES (?)", [json.dumps(messages[-1])])  # before it is sent
        sent.append(render(messages, pin_rules(PROVIDER[dialect], "m", breakpoints=0), dialect=dialect))
        messages.append(assistant(f"answer {turn}", dialect))
        store.execute("INSERT INTO messages VALUES (?)", [json.dumps(messages[-1])])
    restored = [json.loads(body) for (body,) in store.execute("SELECT body FROM messages")]
    assert restored == messages
    rules = pin_rules(PROVIDER[dialect], "m", breakpoints=0)
    assert render(restored, rules, dialect=dialect)[: len(sent[-1])] == sent[-1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_30_restore_then_call_has_the_previous_request_as_its_prefix(dialect):
    rules = pin_rules(PROVIDER[dialect], "m", breakpoints=0)
    messages = [user("run the tests", dialect)]
    inject(messages, MEMORY, source="pi", dialect=dialect)
    sent = render(messages, rules, dialect=dialect)
    restored = json.loads(json.dumps([*messages, assistant("done", dialect)]))
    restored.append(user("again", dialect))
    result = inject(restored, MEMORY, source="pi", dialect=dialect)
    assert result.outcome == "nothing_new"
    assert render(restored, rules, dialect=dialect)[:1] == sent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_31_previews_and_exports_leave_it_out_while_the_model_gets_it(dialect):
    messages = [user("run the tests", dialect), assistant("ok", dialect), user("and lint", dialect)]
    clean = json.loads(json.dumps(messages))
    inject(messages, MEMORY, source="pi", dialect=dialect)
    stripped = strip_injected(messages, dialect)
    for message in stripped:
        message.pop("tracking_id", None)
    assert stripped == clean
    assert "pytest" not in json.dumps(stripped)
    sent = render(messages, pin_rules(PROVIDER[dialect], "m"), dialect=dialect)
    assert "Tests run with pytest" in json.dumps(sent)


def test_behaviour_31_a_string_content_is_given_back_as_it_was():
    messages = [{"role": "user", "content": "run the tests"}]
    inject(messages, MEMORY, source="pi")
    assert [message["content"] for message in strip_injected(messages)] == ["run the tests"]


def test_behaviour_32_an_older_reader_that_knows_only_text_still_loads_it():
    messages = [user("run the tests", "strands")]
    inject(messages, MEMORY, source="pi")
    loaded = json.loads(json.dumps(messages))
    old_reader = [{"role": m["role"], "content": [{"text": b["text"]} for b in m["content"]]} for m in loaded]
    assert texts(old_reader[0])[1].endswith("Tests run with pytest")


@pytest.mark.parametrize(
    "raw",
    [
        '{"role": "user", "content": [{"text": "é", "x": 1}, {"hologram": [1, null]}], "z": {}, "a": 1.50}',
        '{"content": "a string", "role": "user", "metadata": {"injected": [{"v": 9, "source": "s"}]}}',
        '{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAA="}',
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "half": true}]}',
    ],
)
def test_load_and_dump_are_byte_identical(raw):
    for message in view([json.loads(raw)]):
        assert message.blocks
        assert json.dumps(message.raw, ensure_ascii=False) == raw.replace("1.50", "1.5")


def test_a_mark_of_a_newer_version_is_read_for_what_is_known():
    newer = {
        "source": "pi",
        "id": "i",
        "digest": "d",
        "record_ids": ["mem_a"],
        "versions": 7,
        "shape": {"x": 1},
    }
    message = {"role": "user", "content": [{"text": "hi"}, {"text": "old", "metadata": {"injected": newer}}]}
    assert inject([message], MEMORY, source="pi").outcome == "already_written"
    assert message["content"][1]["metadata"]["injected"] == newer
    assert strip_injected([message]) == [{"role": "user", "content": [{"text": "hi"}]}]
