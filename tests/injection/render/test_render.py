"""Behaviours 21 to 28, 33 and 43 to 46: separators, tool results, and the bytes each provider is sent."""

from __future__ import annotations

import copy
import json
import logging
from itertools import pairwise
from pathlib import Path

import pytest

from pi_rank.errors import ConfigError
from pi_rank.injection import inject
from pi_rank.injection.render import RenderRules, pin_rules, render, switch_model
from pi_rank.injection.render.rules import CAPABILITIES
from tests.injection.memory import context, record
from tests.injection.shapes import DIALECTS, assistant, texts, tool_call, tool_result, user

GOLDEN = Path(__file__).with_name("golden")
MODELS = [
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("bedrock", "anthropic.claude-sonnet-4"),
    ("bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0"),
    ("openai_chat", "gpt-5"),
    ("openai_chat", "llama3.2"),
    ("openai_responses", "gpt-5"),
]
LLAMA = pin_rules("bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0")
MEMORY = context([record("mem_a", "Tests run with pytest")])


def conversation(dialect: str) -> list[dict]:
    """Recalled memory, an operator's text, two parallel tools and a block on their results, a second turn."""
    messages = [user("How do I run the tests?", dialect)]
    inject(messages, MEMORY, source="pi", dialect=dialect)
    policy = "Answer in one line."
    inject(messages, policy, source="policy", rendering="system", operator_text=True, dialect=dialect)
    messages += tool_call("t1", "t2", dialect=dialect)
    messages += tool_result("t1", "t2", dialect=dialect)
    inject(messages, "Two tools ran.", source="steps", trigger="every_turn", dialect=dialect)
    return [*messages, assistant("Run pytest.", dialect), user("thanks, and lint?", dialect)]


def wire(messages: list[dict], rules: RenderRules, dialect: str | None = None) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in render(messages, rules, dialect=dialect)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_21_a_separator_only_after_text(dialect):
    empty = {"role": "user", "content": []}
    image = {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"x"}}}]}
    for message, expected in [
        (user("hi", dialect), ["hi", "\n\nblock", "\n\nsecond"]),
        (user("", dialect), ["", "block", "\n\nsecond"]),
        (empty, ["block", "\n\nsecond"]),
        (image, ["block", "\n\nsecond"]),
    ]:
        messages = [message]
        inject(messages, "block", source="one", dialect=dialect)
        inject(messages, "second", source="two", dialect=dialect)
        assert texts(messages[0]) == expected


def test_behaviour_21_never_when_the_text_starts_with_a_newline_itself():
    messages = [user("hi", "strands")]
    inject(messages, "\nblock", source="pi")
    assert texts(messages[0]) == ["hi", "\nblock"]


@pytest.mark.parametrize("dialect", ["strands", "anthropic"])
def test_behaviour_22_a_tool_result_turn_never_begins_with_a_blank_line(dialect):
    messages = [user("hi", dialect), *tool_call("t1", dialect=dialect), *tool_result("t1", dialect=dialect)]
    inject(messages, "\n\nblock", source="pi", trigger="every_turn", dialect=dialect)
    assert texts(messages[-1]) == ["block"]


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_behaviour_23_rendering_adds_and_strips_nothing(provider, model):
    messages = [user("hi", "strands")]
    text = inject(messages, MEMORY, source="pi").text
    sent = render(messages, pin_rules(provider, model))
    assert [part["text"] for part in sent[0]["content"] if "text" in part] == ["hi", text]


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_behaviour_24_and_44_golden_bytes(provider, model):
    lines = []
    for dialect in DIALECTS:
        lines += [f"# stored as {dialect}", *wire(conversation(dialect), pin_rules(provider, model), dialect)]
    golden = GOLDEN / f"{provider}-{model.replace(':', '_')}.txt"
    assert "\n".join(lines) + "\n" == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-opus-5", '{"role": "system", "content": [{"type": "text", "text": "policy"}]}'),
        ("openai_chat", "gpt-5", '{"role": "developer", "content": "policy"}'),
        (
            "openai_responses",
            "gpt-5",
            '{"role": "developer", "content": [{"type": "input_text", "text": "policy"}]}',
        ),
    ],
)
def test_behaviour_44_operator_text_as_a_message_of_its_own(provider, model, expected):
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    messages = [{"role": "user", "content": [image]}]
    inject(messages, "policy", source="p", rendering="developer", operator_text=True)
    assert wire(messages, pin_rules(provider, model))[-1] == expected


def test_behaviour_44_a_message_of_nothing_but_operator_text_stays_the_users():
    messages = [{"role": "user", "content": []}]
    inject(messages, "policy", source="p", rendering="system", operator_text=True, dialect="anthropic")
    rules = pin_rules("anthropic", "claude-opus-5", breakpoints=0)
    assert wire(messages, rules, "anthropic") == [
        '{"role": "user", "content": [{"type": "text", "text": "policy"}]}'
    ]


def test_behaviour_24_a_string_content_is_sent_as_a_string_to_openai():
    messages = [{"role": "user", "content": "hi"}]
    inject(messages, "block", source="pi")
    assert wire(messages, pin_rules("openai_chat", "llama3.2")) == [
        '{"role": "user", "content": "hi\\n\\nblock"}'
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_25_tool_results_get_no_block_unless_asked(dialect):
    messages = [user("hi", dialect), *tool_call("t1", dialect=dialect), *tool_result("t1", dialect=dialect)]
    before = copy.deepcopy(messages)
    result = inject(messages, MEMORY, source="pi", dialect=dialect)
    assert result.outcome == "refused"
    assert messages == before
    result = inject(messages, MEMORY, source="pi", trigger="every_turn", dialect=dialect)
    assert result.wrote
    assert messages[:2] == before[:2]
    again = inject(messages, MEMORY, source="pi", trigger="every_turn", dialect=dialect)
    assert again.outcome == "already_written"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_behaviour_26_anthropic_gets_tool_results_first(dialect):
    mixed = [*tool_call("t1", dialect=dialect), *tool_result("t1", dialect=dialect)]
    if dialect in ("strands", "anthropic"):
        mixed[-1]["content"].insert(0, user("and another thing", dialect)["content"][0])
    inject(mixed, "block", source="pi", trigger="every_turn", dialect=dialect)
    sent = render([user("hi", dialect), *mixed], pin_rules("anthropic", "claude-sonnet-4-5"), dialect=dialect)
    following = sent[2]["content"] + (sent[3]["content"] if len(sent) > 3 else [])
    assert following[0]["type"] == "tool_result"
    assert {part["type"] for part in following[1:]} == {"text"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("provider", ["openai_chat", "openai_responses"])
def test_behaviour_27_openai_gets_outputs_directly_after_their_calls(dialect, provider):
    messages = [user("hi", dialect), *tool_call("t1", "t2", dialect=dialect)]
    messages += tool_result("t1", "t2", dialect=dialect)
    inject(messages, "block", source="pi", trigger="every_turn", dialect=dialect)
    sent = render(messages, pin_rules(provider, "gpt-5"), dialect=dialect)
    kinds = [item.get("type") or item["role"] for item in sent]
    if provider == "openai_chat":
        assert kinds == ["user", "assistant", "tool", "tool", "user"]
    else:
        assert kinds == ["user", *["function_call"] * 2, *["function_call_output"] * 2, "user"]


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses"])
def test_behaviour_27_no_text_between_a_call_and_an_output_that_is_still_out(dialect):
    messages = [user("hi", dialect), *tool_call("t1", "t2", dialect=dialect)]
    messages += tool_result("t1", dialect=dialect)
    result = inject(messages, "block", source="pi", trigger="every_turn", dialect=dialect)
    assert str(result) == "refused: 1 tool call(s) still wait for their output"


def test_behaviour_28_a_strict_model_accepts_every_later_request():
    messages = conversation("strands")
    before = copy.deepcopy(messages)
    sent = render(messages, LLAMA)
    for message in sent:
        kinds = {next(iter(part)) for part in message["content"]}
        assert kinds == {"toolResult"} or "toolResult" not in kinds
    roles = [message["role"] for message in sent]
    assert all(first != second for first, second in pairwise(roles))
    assert messages == before


def test_behaviour_28_the_split_is_deterministic_and_idempotent():
    once = render(conversation("strands"), LLAMA)
    assert render(conversation("strands"), LLAMA) == once
    assert render(once, LLAMA, dialect="strands") == once


def test_behaviour_28_an_earlier_request_stays_a_prefix():
    messages = conversation("strands")
    earlier = wire(messages[:3], LLAMA)
    assert wire(messages, LLAMA)[: len(earlier)] == earlier


@pytest.mark.parametrize(
    ("dialect", "provider", "block"),
    [
        ("strands", "bedrock", {"hologram": {"x": 1}}),
        ("anthropic", "anthropic", {"type": "hologram", "x": 1}),
        ("openai_chat", "openai_chat", {"type": "hologram", "x": 1}),
        ("openai_responses", "openai_responses", {"type": "hologram", "x": 1}),
    ],
)
def test_behaviour_33_unknown_blocks_go_back_to_their_own_provider_and_are_left_out_elsewhere(
    dialect, provider, block, caplog
):
    message = user("hi", dialect)
    message["content"].append(block)
    messages = [message]
    inject(messages, "block", source="pi", dialect=dialect)
    assert block in messages[0]["content"]
    sent = render(messages, pin_rules(provider, "some-model", breakpoints=0), dialect=dialect)
    assert json.dumps(sent[0]["content"][1]) == json.dumps(block)
    assert caplog.records == []
    other = "openai_chat" if provider != "openai_chat" else "anthropic"
    rules = pin_rules(other, "some-model", breakpoints=0)
    with caplog.at_level(logging.INFO, "pi_rank.injection"):
        first = wire(messages, rules, dialect)
    assert "hologram" not in first[0]
    assert [entry.message.split(" (")[0] for entry in caplog.records] == ["a unknown block"]
    assert wire(messages, rules, dialect) == first


def test_behaviour_43_the_saved_rules_decide_not_the_present_table():
    rules = pin_rules("anthropic", "claude-opus-5")
    sent = wire(conversation("strands"), rules)
    restored = RenderRules.from_dict(json.loads(json.dumps({**rules.to_dict(), "a newer key": 1})))
    assert restored == rules
    assert wire(conversation("strands"), restored) == sent


def test_behaviour_43_switching_models_keeps_the_rendering_or_records_a_reset():
    rules = pin_rules("anthropic", "claude-sonnet-4-5")
    kept = switch_model(rules, "anthropic", "claude-opus-5")
    assert (kept.system_messages, kept.resets) == (False, ())
    assert wire(conversation("strands"), kept) == wire(conversation("strands"), rules)
    back = switch_model(pin_rules("anthropic", "claude-opus-5"), "anthropic", "claude-sonnet-4-5")
    assert (back.system_messages, back.resets) == (False, ("claude-opus-5 -> claude-sonnet-4-5",))
    assert switch_model(rules, "openai_chat", "gpt-5").resets == ("claude-sonnet-4-5 -> gpt-5",)


@pytest.mark.parametrize("rendering", ["system", "developer"])
def test_behaviour_45_recalled_memory_stays_user_text(rendering):
    messages = [user("hi", "strands")]
    result = inject(messages, MEMORY, source="pi", rendering=rendering, operator_text=True)
    assert str(result) == f"refused: recalled memory is untrusted and stays user text, not {rendering}"
    assert inject(messages, lambda: MEMORY, source="pi", rendering=rendering).outcome == "refused"
    assert inject(messages, "policy", source="pi", rendering=rendering).reason.endswith(
        "operator_text=True if so"
    )
    assert messages == [user("hi", "strands")]


def test_behaviour_46_a_static_part_and_a_changing_part_are_separate_blocks():
    messages = [user("hi", "strands")]
    for turn in range(2):
        inject(messages, "The team works in Lisbon time.", source="pi/static")
        inject(messages, f"{turn} builds are red.", source="pi/state")
        messages += [assistant("ok", "strands"), user("next", "strands")]
    assert [texts(message)[1:] for message in messages if message["role"] == "user"] == [
        ["\n\nThe team works in Lisbon time.", "\n\n0 builds are red."],
        ["\n\n1 builds are red.\n(replaces the earlier text of pi/state)"],
        [],
    ]


def test_breakpoints_are_four_at_most_and_never_on_a_system_message():
    messages = conversation("anthropic")
    rules = pin_rules("anthropic", "claude-opus-5", breakpoints=2)
    count = lambda sent: sum("cache_control" in part for message in sent for part in message["content"])  # noqa: E731
    assert [
        count(render(messages, rules, dialect="anthropic", used_breakpoints=used)) for used in (0, 3, 4)
    ] == [
        2,
        1,
        0,
    ]
    first_turn = render(messages[:1], rules, dialect="anthropic")
    assert [("cache_control" in message["content"][-1], message["role"]) for message in first_turn] == [
        (True, "user"),
        (False, "system"),
    ]


def test_every_capability_row_says_where_it_comes_from_and_when():
    text = CAPABILITIES.read_text(encoding="utf-8")
    rows = text.split("[[")[1:]
    assert len(rows) >= 10
    assert all("source = " in row and "date = 20" in row for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gemini", "x"), "provider 'gemini' is unknown: use one of anthropic, bedrock"),
        (("openai", "x"), "provider 'openai' is unknown"),
    ],
)
def test_an_unknown_provider_names_the_known_ones(arguments, message):
    with pytest.raises(ConfigError, match=message):
        pin_rules(*arguments)


def test_saved_rules_that_cannot_be_read_say_what_is_wrong():
    with pytest.raises(ConfigError, match="missing required field `provider`"):
        RenderRules.from_dict({"model": "x"})
