"""A block is found whatever stores and frameworks make of its message; it counts while it can be read."""

from __future__ import annotations

import json

import pytest

from pi_rank.injection import Injector, inject, own_words, quarantine, strip_injected
from pi_rank.injection.history.find import locate
from pi_rank.injection.history.live import live_records
from pi_rank.injection.history.marks import new_mark
from pi_rank.injection.history.messages import Message
from tests.injection.memory import ListMemory, context, record
from tests.injection.shapes import assistant, user

ASK = "Which VPN gateway do I use?"
MEMORY = context(
    [record("mem_vpn", "The VPN gateway is vpn-3.fruitful.example. " + "It is in Lisbon. " * 30)]
)


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


def joined(content, between=""):
    return content if isinstance(content, str) else between.join(part["text"] for part in content)


WHOLE = {  # the whole text is still there
    "string -> one block": lambda c: parts(joined(c)),
    "blocks -> one string": joined,
    "blocks -> one block": lambda c: parts(joined(c)),
    "blocks joined by a newline": lambda c: joined(c, "\n"),
    "blocks stripped and joined by a space": lambda c: " ".join(
        t.strip() for t in joined(c, "\x00").split("\x00")
    ),
    "CRLF": lambda c: joined(c).replace("\n", "\r\n"),
    "CRLF in a block": lambda c: parts(joined(c).replace("\n", "\r\n")),
    "another dialect's text": lambda c: [{"type": "input_text", "text": joined(c)}],
    "a block without metadata, in the shape of Bedrock": lambda c: [{"text": joined(c)}],
    "words edited in front": lambda c: "Please: " + joined(c),
    "a later question in the same string": lambda c: joined(c) + "\n\nAnd who runs it?",
}
CUT = {  # some of it is not
    "truncated": lambda c: joined(c)[: len(ASK) + 120],
    "truncated in a block": lambda c: parts(joined(c)[: len(ASK) + 120]),
    "the middle elided": lambda c: parts(
        f"[Truncated: 1 block, ~200 tokens]\n\n{joined(c)[:100]}"
        f"\n\n[... 400 chars elided ...]\n\n{joined(c)[-90:]}"
    ),
    "the head elided": lambda c: parts(
        f"[Truncated: 1 block, ~200 tokens]\n\n[... 500 chars elided ...]\n\n{joined(c)[-90:]}"
    ),
    "a word redacted": lambda c: joined(c).replace("vpn-3", "***"),
}


def reshaped(content, change):
    messages = [{"role": "user", "content": content}]
    assert inject(messages, MEMORY, source="pi").wrote
    messages[0]["content"] = change(messages[0]["content"])
    return json.loads(json.dumps(messages))


@pytest.mark.parametrize("content", [ASK, parts(ASK)], ids=["string", "blocks"])
@pytest.mark.parametrize("change", WHOLE.values(), ids=WHOLE)
def test_a_reshaped_block_is_found_live_and_hidden(content, change):
    messages = reshaped(content, change)
    assert live_records(messages, "pi").records.keys() == {"mem_vpn"}
    shown = json.dumps(strip_injected(messages))
    assert "vpn-3" not in shown and "Lisbon" not in shown and "injected" not in shown
    assert ASK in own_words(messages)
    assert inject(messages, MEMORY, source="pi").outcome in ("already_written", "nothing_new")
    later = [*messages, assistant("vpn-3", "openai_chat"), user("again?", "openai_chat")]
    assert inject(later, MEMORY, source="pi").outcome == "nothing_new"


def test_words_after_and_before_a_joined_block_stay():
    edited = reshaped(ASK, lambda c: f"Please: {c}\n\nAnd who runs it?")
    assert own_words(edited) == f"Please: {ASK}\n\n\nAnd who runs it?"
    assert strip_injected(edited) == [{"role": "user", "content": f"Please: {ASK}\n\nAnd who runs it?"}]


@pytest.mark.parametrize("content", [ASK, parts(ASK)], ids=["string", "blocks"])
@pytest.mark.parametrize("change", CUT.values(), ids=CUT)
def test_what_is_left_of_a_cut_block_is_hidden_and_no_longer_live(content, change):
    messages = reshaped(content, change)
    assert live_records(messages, "pi").records == {}
    shown = json.dumps(strip_injected(messages))
    assert "Persistent" not in shown and "Lisbon" not in shown
    messages += [assistant("ok", "openai_chat"), user(ASK, "openai_chat")]
    assert inject(messages, MEMORY, source="pi").record_ids == ("mem_vpn",)


@pytest.mark.parametrize("content", [ASK, parts(ASK)], ids=["string", "blocks"])
def test_hard_rules_come_back_after_a_redaction(content):
    rules = context(hard_rules=[record("rule_x", "Never push to main", rule_type="avoid_pattern")])
    messages = [{"role": "user", "content": content}]
    inject(messages, rules, source="pi")
    redacted = "[User input redacted.]"
    messages[0]["content"] = redacted if isinstance(content, str) else parts(redacted)
    messages = [*messages, assistant("no", "openai_chat"), user("go on", "openai_chat")]
    restored = json.loads(json.dumps(messages))
    for history in (messages, restored):
        assert inject(history, rules, source="pi").record_ids == ("rule_x",)
        assert (
            inject([*history, user("and now?", "openai_chat")], rules, source="pi").outcome == "nothing_new"
        )
    assert strip_injected(messages[:1])[0] == {"role": "user", "content": messages[0]["content"]}


def test_a_block_that_is_marked_itself_keeps_what_somebody_joined_to_it():
    messages = [{"role": "user", "content": parts(ASK)}]
    inject(messages, MEMORY, source="pi")
    block = messages[0]["content"][1]
    merged = {"role": "user", "content": [{**block, "text": f"{ASK}{block['text']}\nAnd who runs it?"}]}
    assert strip_injected([merged]) == [{"role": "user", "content": parts(f"{ASK}\nAnd who runs it?")}]
    assert live_records([merged], "pi").records.keys() == {"mem_vpn"}


def test_stripping_gives_the_conversation_as_the_user_had_it():
    given = [
        {"role": "user", "content": ASK, "tracking_id": "mine", "metadata": {"mine": 1}},
        {"role": "assistant", "content": "vpn-3"},
        {"role": "user", "content": parts("And who runs it?"), "name": "kim"},
        {"role": "assistant", "content": "Ops"},
        {"role": "user", "content": ASK},
    ]
    messages = []
    for number, message in enumerate(json.loads(json.dumps(given))):
        messages.append(message)
        if message["role"] == "user":
            assert inject(messages, f"text {number}", source="pi").wrote
    assert messages[4]["tracking_id"]
    assert strip_injected(messages) == given
    assert strip_injected(json.loads(json.dumps(messages))) == given


@pytest.mark.parametrize("change", WHOLE.values(), ids=WHOLE)
def test_quarantine_finds_a_reshaped_block(change):
    messages = reshaped(ASK, change)
    block_id = Message(messages[0], "openai_chat").metadata["injected"][0]["id"]
    done = quarantine(messages, block_id)
    assert done.record_ids == ("mem_vpn",)
    assert "vpn-3" not in json.dumps(messages)
    assert "guardrail" not in json.dumps(strip_injected(messages))
    assert ASK in own_words(messages)
    messages += [assistant("ok", "openai_chat"), user(ASK, "openai_chat")]
    assert inject(messages, MEMORY, source="pi").outcome == "nothing_new"


def test_a_short_text_is_found_where_words_were_put_around_it():
    mark = new_mark("mode", "OK", rendering="text")
    assert [(p.start, p.end, p.intact) for p in locate(["It is OK, he said"], [mark])[0]] == [(6, 8, True)]
    assert locate(["nothing of it"], [mark]) == [[]]


def test_two_turns_with_the_same_words_are_told_apart():
    memory = ListMemory([record("mem_vpn", "The VPN gateway is vpn-3")])
    messages = [{"role": "user", "content": ASK}]
    Injector(memory).inject(messages)
    pasted = messages[0]["content"].partition("?")[2]
    messages += [assistant("ok", "openai_chat"), {"role": "user", "content": f"What is this?{pasted}"}]
    assert strip_injected(messages)[2]["content"] == f"What is this?{pasted}"
