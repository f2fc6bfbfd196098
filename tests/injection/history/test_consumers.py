"""Behaviours 34 to 42, 47 and 48: those who read a conversation, and what can be recovered."""

from __future__ import annotations

import copy
import json
import logging

import pytest

from pi_rank.errors import ContextError
from pi_rank.injection import Injector, echoes, inject, own_words, quarantine, strip_injected
from pi_rank.injection.history.consumers import guardrail_blocks, offloadable
from pi_rank.injection.history.messages import Message
from pi_rank.injection.history.quarantine import PLACEHOLDER
from pi_rank.injection.render import pin_rules, render
from pi_rank.injection.tokens import estimate_call_tokens, estimate_tokens
from tests.injection.memory import ListMemory, context, record
from tests.injection.shapes import DIALECTS, assistant, texts, tool_call, tool_result, user

MEMORY = context([record("mem_a", "Tests run with pytest on every push to the main branch")])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_34_consumers_see_no_injected_text_and_tool_pairs_stay_whole(dialect):
    messages = [user("hi", dialect), *tool_call("t1", dialect=dialect), *tool_result("t1", dialect=dialect)]
    before = copy.deepcopy(messages)
    inject(messages, MEMORY, source="pi", trigger="every_turn", dialect=dialect)
    stripped = strip_injected(messages, dialect)
    for message in stripped:
        message.pop("tracking_id", None)
    assert stripped == before


def test_behaviour_34_a_message_left_empty_is_dropped():
    messages = [{"role": "user", "content": []}]
    inject(messages, MEMORY, source="pi")
    assert strip_injected(messages) == []


def test_behaviour_34_the_recall_query_is_the_users_own_words():
    memory = ListMemory([record("mem_a", "tests run with pytest")])
    messages = [user("how do tests run?", "strands")]
    inject(messages, "deploy with helm", source="other")
    assert Injector(memory).inject(messages).record_ids == ("mem_a",)
    assert memory.asked == ["how do tests run?"]
    assert own_words(messages) == "how do tests run?"


def test_behaviour_35_offload_leaves_injected_blocks_where_they_are():
    messages = [user("hi", "strands")]
    messages[0]["content"].append({"image": {"format": "png", "source": {"bytes": b"x"}}})
    inject(messages, MEMORY, source="pi")
    assert offloadable(messages[0]) == [0, 1]


def test_behaviour_36_an_answer_that_quotes_injected_text_is_no_fact_of_the_user():
    messages = [user("what runs when?", "strands")]
    inject(messages, MEMORY, source="pi")
    assert echoes("The tests run with pytest on every push to the main branch.", messages)
    assert not echoes("The user deploys with helm from a laptop in Lisbon", messages)
    assert not echoes("", messages)


def test_behaviour_36_what_the_user_said_too_is_the_users():
    messages = [user("note that tests run with pytest on every push to the main branch", "strands")]
    inject(messages, MEMORY, source="pi")
    assert not echoes("tests run with pytest on every push to the main branch", messages)


@pytest.mark.parametrize("mode", ["persist", "per_call"])
def test_behaviour_37_the_token_estimate_includes_text_written_for_the_call(mode):
    messages = [user("hi there", "strands")]
    before = estimate_call_tokens(messages)
    result = inject(messages, MEMORY, source="pi", mode=mode)
    assert result.tokens == -(-len(result.text) // 4)
    assert estimate_call_tokens(result.outgoing) == before + result.tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcdefg", 2), ("部署", 2), ("привет", 4), ("ab部", 2)]
)
def test_behaviour_37_four_bytes_of_ascii_or_three_of_other_text_make_a_token(text, tokens):
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_38_quarantine_replaces_one_block_and_records_the_place(dialect):
    messages = [user("hi", dialect)]
    result = inject(messages, MEMORY, source="pi", dialect=dialect)
    inject(messages, "second", source="other", dialect=dialect)
    messages += [assistant("ok", dialect), user("next", dialect)]
    done = quarantine(messages, result.block_id, dialect)
    assert (done.message_index, done.record_ids, done.reason) == (0, ("mem_a",), "quarantine")
    assert texts(messages[0]) == ["hi", f"\n\n{PLACEHOLDER}", "\n\nsecond"]
    assert inject(messages, MEMORY, source="pi", dialect=dialect).outcome == "nothing_new"


def test_behaviour_38_a_text_that_was_quarantined_is_not_written_again():
    messages = [user("hi", "strands")]
    done = inject(messages, "a static text", source="pi")
    quarantine(messages, done.block_id)
    messages += [assistant("ok", "strands"), user("next", "strands")]
    assert inject(messages, "a static text", source="pi").outcome == "nothing_new"


def test_behaviour_38_in_a_string_content_the_other_blocks_stay_found():
    messages = [{"role": "user", "content": "hi"}]
    result = inject(messages, MEMORY, source="pi")
    inject(messages, "second", source="other")
    quarantine(messages, result.block_id)
    assert messages[0]["content"] == f"hi\n\n{PLACEHOLDER}\n\nsecond"
    assert [block.mark is not None for block in Message(messages[0], "openai_chat").blocks] == [
        False,
        True,
        True,
    ]
    assert [message["content"] for message in strip_injected(messages)] == ["hi"]


def test_behaviour_38_an_unknown_block_is_an_error_that_names_the_known_ones():
    messages = [user("hi", "strands")]
    known = inject(messages, MEMORY, source="pi").block_id
    with pytest.raises(
        ContextError, match=f"no injected block has the id 'nope'; the conversation holds: {known}"
    ):
        quarantine(messages, "nope")


SECRETS = [
    ("AKIA" + "IOSFODNN7EXAMPLE", "AWS access key"),
    ("ghp_" + "a1B2" * 9, "GitHub token"),
    ("sk-ant-" + "api03-abcdefghijklmnopqrstuv", "Anthropic key"),
    ("sk-" + "proj-abcdefghijklmnopqrstuvwx", "OpenAI key"),
    ("xoxb-" + "1234567890-abcdef", "Slack token"),
    ("AIza" + "b" * 35, "Google key"),
    ("eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NSJ9" + ".c2lnbmF0dXJlMTIz", "JSON web token"),
    ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----", "private key"),
]


@pytest.mark.parametrize(("secret", "kind"), SECRETS, ids=[kind for _, kind in SECRETS])
def test_behaviour_39_secrets_are_masked_or_refused_before_a_write(secret, kind):
    messages = [user("hi", "strands")]
    refused = inject(messages, f"the key is {secret}, keep it", source="pi", secrets="refuse")
    assert str(refused) == f"refused: the text holds what looks like: {kind}"
    assert messages == [user("hi", "strands")]
    inject(messages, f"the key is {secret}, keep it", source="pi")
    assert texts(messages[0])[1] == f"\n\nthe key is [masked {kind}], keep it"
    assert secret not in json.dumps(messages)
    messages += [assistant("ok", "strands"), user("next", "strands")]
    assert inject(messages, f"the key is {secret}, keep it", source="pi").outcome == "nothing_new"


def test_behaviour_39_prose_is_not_taken_for_a_secret():
    text = "Use sk-learn and the ghp_ prefix; AKIA keys rotate; task-driven-development-is-our-way-of-working"
    messages = [user("hi", "strands")]
    assert inject(messages, text, source="pi", secrets="refuse").wrote


def test_behaviour_40_the_documentation_says_that_what_is_injected_is_stored():
    said = " ".join((inject.__doc__ or "").split())
    assert "What is written is stored with the conversation" in said
    assert "a memory that is deleted later stays where it was recalled" in said


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_41_per_call_leaves_the_stored_history_alone(dialect):
    messages = [user("hi", dialect), assistant("hello", dialect), user("run the tests", dialect)]
    before = copy.deepcopy(messages)
    result = inject(messages, MEMORY, source="pi", mode="per_call", dialect=dialect)
    assert messages == before
    assert (result.wrote, result.prefix_breaking) == (True, True)
    assert texts(result.outgoing[-1])[-1] == result.text
    assert inject(messages, MEMORY, source="pi", mode="per_call", dialect=dialect).wrote


def test_behaviour_41_the_cache_point_sits_before_the_text():
    strands = inject([user("hi", "strands")], MEMORY, source="pi", mode="per_call")
    kinds = [sorted(block)[0] for block in strands.outgoing[0]["content"]]
    assert kinds == ["text", "cachePoint", "metadata"]
    sent = render(strands.outgoing, pin_rules("bedrock", "anthropic.claude-sonnet-4"))
    assert [next(iter(part)) for part in sent[0]["content"]] == ["text", "cachePoint", "text"]
    anthropic = inject([user("hi", "anthropic")], MEMORY, source="pi", mode="per_call", dialect="anthropic")
    sent = render(anthropic.outgoing, pin_rules("anthropic", "claude-opus-5"), dialect="anthropic")
    assert ["cache_control" in part for part in sent[0]["content"]] == [True, False]


def test_behaviour_42_per_call_is_refused_where_the_server_keeps_the_conversation():
    messages = [user("hi", "openai_responses")]
    result = inject(messages, MEMORY, source="pi", mode="per_call", server_state=True)
    assert result.reason.startswith("the server keeps this conversation")
    assert inject(messages, MEMORY, source="pi", server_state=True).wrote


def test_behaviour_47_telemetry_carries_identity_and_size_never_the_text(caplog):
    messages = [user("hi", "strands")]
    with caplog.at_level(logging.DEBUG, "pi_rank"):
        result = inject(messages, MEMORY, source="pi")
        for _ in range(5):
            inject(messages, MEMORY, source="pi")
    assert result.telemetry() == {
        "injection.outcome": "written",
        "injection.source": "pi",
        "injection.block_id": result.block_id,
        "injection.bytes": len(result.text.encode()),
        "injection.record_ids": ["mem_a"],
    }
    assert len(caplog.records) == 1
    assert "pytest" not in caplog.text + json.dumps(result.telemetry())
    assert result.block_id in caplog.text


@pytest.mark.parametrize("dialect", ["strands", "anthropic"])
def test_behaviour_48_a_guardrail_does_not_jump_to_a_tool_result_message(dialect):
    messages = [user("my question", dialect), *tool_call("t1", dialect=dialect)]
    messages += tool_result("t1", dialect=dialect)
    inject(messages, "block", source="pi", trigger="every_turn", dialect=dialect)
    index, blocks = guardrail_blocks(messages, dialect=dialect)
    assert (index, [block.text for block in blocks]) == (0, ["my question"])


def test_behaviour_48_which_blocks_are_evaluated_can_be_chosen():
    messages = [user("my question", "strands")]
    text = inject(messages, MEMORY, source="pi").text
    assert [block.text for block in guardrail_blocks(messages)[1]] == ["my question"]
    both = guardrail_blocks(messages, include_injected=True)[1]
    assert [block.text for block in both] == ["my question", text]
    assert guardrail_blocks([]) == (-1, [])
