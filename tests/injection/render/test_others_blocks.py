"""Nothing of others is lost: what a provider or the caller put into the history goes back as it came."""

from __future__ import annotations

import json
import typing

import pytest

from pi_rank.injection import Injector, inject
from pi_rank.injection.adapters import anthropic as adapter
from pi_rank.injection.render import pin_rules, render
from pi_rank.injection.render.portable import count_keys
from tests.injection.memory import ListMemory, record
from tests.injection.shapes import assistant, user

OPUS = pin_rules("anthropic", "claude-opus-5", breakpoints=0)


def literals(annotation):
    """The values that a `type` may have."""
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return [value for inner in typing.get_args(annotation) for value in literals(inner)]


def typed_dicts(annotation):
    """The TypedDicts of a union, whatever is wrapped around them."""
    if hasattr(annotation, "__total__"):
        return [annotation]
    return [found for inner in typing.get_args(annotation) for found in typed_dicts(inner)]


def types_of(union):
    named = {}
    for each in typed_dicts(union):
        hints = typing.get_type_hints(each)
        named.update(dict.fromkeys(literals(hints.get("type")), each))
    return sorted(named)


def test_every_block_type_of_the_anthropic_package_goes_back_as_it_came():
    pytest.importorskip("anthropic", reason="anthropic is not installed (extra: anthropic)")
    from anthropic.types import content_block_param
    from anthropic.types.beta import beta_content_block_param

    known = set(types_of(content_block_param.ContentBlockParam))
    known |= set(types_of(beta_content_block_param.BetaContentBlockParam))
    assert len(known) > 20 and {"compaction", "mcp_tool_use", "fallback"} <= known
    for name in sorted(known - {"text", "tool_result"}):
        block = {"type": name, "z": {"b": 1, "a": [None, 1.5]}, "cache_control": None}
        messages = [user("q", "anthropic"), {"role": "assistant", "content": [block]}, user("n", "anthropic")]
        sent = render(messages, OPUS, dialect="anthropic")
        assert json.dumps(sent[1]) == json.dumps(messages[1]), name


def test_every_item_type_of_the_openai_package_goes_back_as_it_came():
    pytest.importorskip("openai", reason="openai is not installed (extra: openai)")
    from openai.types.responses import response_input_param

    known = types_of(response_input_param.ResponseInputItemParam)
    assert len(known) > 25 and {"tool_search_call", "additional_tools", "compaction"} <= set(known)
    rules = pin_rules("openai_responses", "gpt-5")
    for name in known:
        item = {"type": name, "id": "i", "z": {"b": 1, "a": [None, 1.5]}}
        items = [user("q", "openai_responses"), item, user("n", "openai_responses")]
        assert json.dumps(render(items, rules, dialect="openai_responses")[1]) == json.dumps(item), name


def test_every_block_of_bedrock_goes_back_as_it_came():
    session = pytest.importorskip("botocore.session", reason="botocore is not installed (extra: strands)")
    model = session.get_session().get_service_model("bedrock-runtime")
    content = model.shape_for("ContentBlock").members
    assert {"toolAddition", "toolRemoval", "searchResult"} <= content.keys()
    rules = pin_rules("bedrock", "anthropic.claude-opus-5-v1:0", breakpoints=0)
    for name in content:
        block = {name: {"z": 1} if name != "text" else "t"}
        messages = [user("q", "strands"), {"role": "assistant", "content": [block]}, user("n", "strands")]
        assert json.dumps(render(messages, rules, dialect="strands")[1]) == json.dumps(messages[1]), name


def test_a_system_message_of_the_history_goes_back_where_the_provider_takes_it():
    said = {"role": "system", "content": "Read-only from now on.", "clear_at": "never"}
    turns = [user("q", "anthropic"), said, assistant("ok", "anthropic"), user("n", "anthropic")]
    assert render(turns, OPUS, dialect="anthropic")[1] == said
    moved = [said, *turns[:1], *turns[2:]]
    assert [m["role"] for m in render(moved, OPUS, dialect="anthropic")] == [
        "user",
        "system",
        "assistant",
        "user",
    ]


def test_a_developer_message_becomes_a_system_message_where_the_model_takes_one():
    history = [
        {"role": "system", "content": "You are Kim."},
        {"role": "user", "content": "q"},
        {"role": "developer", "content": "Read-only from now on."},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "n"},
    ]
    sent = render(history, OPUS, dialect="openai_chat")
    assert [m["role"] for m in sent] == ["user", "system", "assistant", "user"]
    assert sent[1]["content"] == [{"type": "text", "text": "Read-only from now on."}]
    older = render(history, pin_rules("anthropic", "claude-sonnet-4-5"), dialect="openai_chat")
    assert [m["role"] for m in older] == ["user", "assistant", "user"]


def operator(messages, text="Read-only.", rendering="system"):
    return inject(messages, text, source="op", rendering=rendering, operator_text=True, dialect="anthropic")


def test_a_system_message_after_a_failed_call_never_stands_between_two_users():
    messages = [user("a", "anthropic")]
    operator(messages)
    messages.append(user("b", "anthropic"))
    roles = [message["role"] for message in render(messages, OPUS, dialect="anthropic")]
    assert roles == ["user", "user", "system"]
    messages += [assistant("ok", "anthropic"), user("c", "anthropic")]
    roles = [message["role"] for message in render(messages, OPUS, dialect="anthropic")]
    assert roles == ["user", "user", "system", "assistant", "user"]


@pytest.mark.parametrize(
    ("provider", "model", "role"),
    [
        ("anthropic", "claude-opus-5", "system"),
        ("bedrock", "us.anthropic.claude-opus-5-v1:0", "system"),
        ("openai_chat", "gpt-5", "developer"),
        ("openai_responses", "gpt-5", "developer"),
    ],
)
def test_a_stored_block_renders_the_same_whatever_follows_it(provider, model, role):
    rules = pin_rules(provider, model, breakpoints=0)
    memory = ListMemory([record("mem_a", "Deploy with make")])
    messages = [user("deploy?", "strands")]
    operator(messages)
    before = render(messages, rules, dialect="strands")
    Injector(memory).inject(messages)
    after = render(messages, rules, dialect="strands")
    assert [message["role"] for message in before] == [message["role"] for message in after] == ["user", role]
    assert before[1] == after[1]
    assert "Read-only." in json.dumps(after[1]) and "\\n" not in json.dumps(after[1])


def test_text_for_one_turn_is_cleared_at_the_next_where_the_model_takes_that():
    messages = [user("a", "anthropic")]
    operator(messages, "Read-only.")
    inject(
        messages, "<context-status>", source="c", rendering="turn", operator_text=True, dialect="anthropic"
    )
    sent = render(messages, OPUS, dialect="anthropic")
    assert sent[1:] == [
        {"role": "system", "content": [{"type": "text", "text": "Read-only."}]},
        {
            "role": "system",
            "content": [{"type": "text", "text": "<context-status>"}],
            "clear_at": "next_user_message",
        },
    ]
    older = render(messages, pin_rules("anthropic", "claude-sonnet-4-5"), dialect="anthropic")
    assert [len(message["content"]) for message in older] == [3]


@pytest.mark.parametrize("own", range(6))
def test_a_request_never_has_more_than_four_breakpoints(own):
    mark = {"cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x", **mark}]}
    given = {
        "system": [{"type": "text", "text": "s", **(mark if own > 0 else {})}],
        "tools": [{"name": "a", "input_schema": {}, **(mark if own > 1 else {})}],
        **(mark if own > 2 else {}),
    }
    messages = [user("coffee?", "anthropic"), assistant("ok", "anthropic")]
    messages += [{"role": "user", "content": [result]}] if own > 3 else []
    messages += [user("cats?", "anthropic")]
    rules = pin_rules("anthropic", "claude-opus-5", breakpoints=2)
    request = adapter.request(Injector(ListMemory()), messages, rules, model="m", max_tokens=1, **given)
    assert count_keys(request, "cache_control") == min(4, min(own, 4) + 2)


def test_bedrock_never_gets_more_than_four_cache_points():
    point = {"cachePoint": {"type": "default"}}
    messages = [user("a", "strands"), assistant("ok", "strands"), user("b", "strands")]
    messages[0]["content"].append(point)
    rules = pin_rules("bedrock", "anthropic.claude-sonnet-4", breakpoints=2)
    counts = [count_keys(render(messages, rules, used_breakpoints=used), "cachePoint") for used in range(5)]
    assert counts == [2, 2, 2, 1, 1]


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "us.anthropic.claude-opus-5-v1:0", True),
        ("anthropic", "claude-opus-5@20260801", True),
        ("anthropic", "anthropic/claude-opus-4.8", True),
        ("anthropic", "claude-sonnet-5", False),
        ("bedrock", "global.anthropic.claude-opus-5-5-v1:0", True),
        ("bedrock", "anthropic.claude-sonnet-4", False),
        ("bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0", False),
    ],
)
def test_model_ids_of_other_doors_are_known(provider, model, expected):
    assert pin_rules(provider, model).system_messages is expected


def test_bedrocks_own_model_takes_the_system_message():
    session = pytest.importorskip("botocore.session", reason="botocore is not installed (extra: strands)")
    from botocore.validate import ParamValidator

    messages = [user("a", "strands")]
    operator(messages)
    rules = pin_rules("bedrock", "us.anthropic.claude-opus-5-v1:0")
    sent = render(messages, rules, dialect="strands")
    assert [message["role"] for message in sent] == ["user", "system"]
    shape = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    report = ParamValidator().validate({"modelId": "m", "messages": sent}, shape)
    assert not report.has_errors(), report.generate_report()
