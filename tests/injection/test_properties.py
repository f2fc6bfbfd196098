"""What holds for any conversation: what is injected comes out again, whatever stands around it."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_rank.injection import inject, strip_injected
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.history.messages import view
from pi_rank.injection.render import pin_rules, render
from tests.injection.shapes import DIALECTS, assistant, user

WORDS = st.sampled_from(
    ["", " ", "\n", "\n\n", "hi", "## Selected Memory\n- mem_a", "部署", "👍🏽", "\u2028", '{"metadata":1}']
)
TEXTS = st.lists(WORDS, max_size=5).map("".join)
BLOCKS = st.lists(WORDS, min_size=1, max_size=4).map("".join).filter(str.strip)
TURNS = st.lists(st.tuples(TEXTS, st.lists(BLOCKS, max_size=3), st.booleans()), min_size=1, max_size=6)
PROVIDERS = st.sampled_from(["anthropic", "bedrock", "openai_chat", "openai_responses"])


def converse(turns, dialect):
    """A conversation in which every text of every turn is offered by an injector of its own."""
    messages, own = [], []
    for text, blocks, as_string in turns:
        message = {"role": "user", "content": text} if as_string else user(text, dialect)
        own.append(text)
        messages.append(message)
        for number, block in enumerate(blocks):
            inject(messages, block, source=f"s{number}", dialect=dialect)
        messages.append(assistant("ok", dialect))
    return messages, own


def words_of(message, dialect):
    """The text of a message as one string."""
    return "".join(block.text for block in view([message], dialect)[0].blocks)


def holds_own(message, dialect):
    """Whether a message has a block that nobody injected, or was never injected into."""
    blocks = view([message], dialect)[0].blocks
    return "metadata" not in message or any(block.mark is None for block in blocks)


@settings(max_examples=150, deadline=None)
@given(TURNS, st.sampled_from(DIALECTS))
def test_stripping_gives_back_the_users_own_words(turns, dialect):
    messages, own = converse(turns, dialect)
    restored = json.loads(json.dumps(messages))
    users = [m for m in restored if m["role"] == "user"]
    # A message that holds nothing but injected text is left out.
    expected = [text for text, m in zip(own, users, strict=True) if text or holds_own(m, dialect)]
    shown = [m for m in strip_injected(restored, dialect) if m["role"] == "user"]
    assert [words_of(message, dialect) for message in shown] == expected


@settings(max_examples=150, deadline=None)
@given(TURNS, st.sampled_from(DIALECTS))
def test_a_second_pass_over_any_restored_conversation_writes_nothing(turns, dialect):
    messages, _ = converse(turns, dialect)
    restored = json.loads(json.dumps(messages))[:-1]
    before = json.dumps(restored)
    for number, block in enumerate(turns[-1][1]):
        inject(restored, block, source=f"s{number}", dialect=dialect)
    assert json.dumps(restored) == before


@settings(max_examples=150, deadline=None)
@given(TURNS, st.sampled_from(DIALECTS), PROVIDERS)
def test_rendering_sends_every_text_once_and_no_mark(turns, dialect, provider):
    messages, _ = converse(turns, dialect)
    before = json.dumps(messages)
    rules = pin_rules(provider, "m", breakpoints=0)
    sent = json.dumps(render(messages, rules, dialect=dialect), ensure_ascii=False)
    assert json.dumps(messages) == before
    for mark in marks_in(messages):
        assert mark.id not in sent
    assert '"tracking_id"' not in sent
    stored = "".join(words_of(message, dialect) for message in messages)
    target = {"bedrock": "strands"}.get(provider, provider)
    wired = render(messages, rules, dialect=dialect)
    assert "".join(words_of(message, target) for message in wired) == stored


@settings(max_examples=150, deadline=None)
@given(TURNS, st.sampled_from(DIALECTS), PROVIDERS)
@example([("", [], False), ("", [], True)], "strands", "openai_chat")
@example([("", [], False), ("", [], True)], "openai_responses", "openai_chat")
def test_an_earlier_rendering_is_a_prefix_of_every_later_one(turns, dialect, provider):
    messages, _ = converse(turns, dialect)
    rules = pin_rules(provider, "m", breakpoints=0)
    whole = render(messages, rules, dialect=dialect)
    for end in range(1, len(messages), 2):  # after each user message: what was sent then
        sent = render(messages[:end], rules, dialect=dialect)
        assert whole[: len(sent)] == sent
