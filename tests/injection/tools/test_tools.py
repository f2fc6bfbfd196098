"""What may be called now, as the conversation itself says it."""

from __future__ import annotations

import copy
import json

import pytest

from pi_rank.errors import ContextError
from pi_rank.injection import own_words, strip_injected
from pi_rank.injection.adapters import anthropic as anthropic_adapter
from pi_rank.injection.injector import Injector
from pi_rank.injection.prefix_check import check_prefixes
from pi_rank.injection.render import pin_rules, render
from pi_rank.injection.tools import declare, offer, offered, tool_choice
from tests.injection.memory import ListMemory
from tests.injection.shapes import DIALECTS, assistant, tool_call, tool_result, user
from tests.injection.tools.typed import conforms

SCHEMA = {"type": "object", "properties": {}}
ANTHROPIC = {"name": "read", "description": "reads", "input_schema": SCHEMA}
FORMS = [
    ANTHROPIC,
    {"type": "function", "name": "read", "description": "reads", "parameters": SCHEMA},
    {"type": "function", "function": {"name": "read", "description": "reads", "parameters": SCHEMA}},
    {"toolSpec": {"name": "read", "description": "reads", "inputSchema": {"json": SCHEMA}}},
]
OPUS = pin_rules("anthropic", "claude-opus-5", breakpoints=0)


def named(*names):
    return [{**ANTHROPIC, "name": name} for name in names]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_change_is_one_block_that_is_found_after_a_restore_and_gone_after_a_rewind(dialect):
    messages = [user("go", dialect)]
    before = copy.deepcopy(messages)
    declared = [*named("read", "delete"), {**named("deploy")[0], "defer_loading": True}]
    result = offer(messages, add=["deploy"], remove=["delete"], text="Careful.", dialect=dialect)
    assert result.text.strip() == (
        "Careful.\nThe tool `deploy` is available from here on.\n"
        "The tool `delete` is no longer available; do not call it."
    )
    restored = json.loads(json.dumps(messages))
    now = offered(restored, declared, dialect)
    assert now.names == {"read", "deploy"}
    assert "delete" not in now and now.refusal("read") == ""
    assert now.refusal("delete") == "The tool 'delete' is not available. Available tools: deploy, read."
    assert offered(before, declared, dialect).names == {"read", "delete"}
    assert own_words(messages, dialect) == "go"
    assert strip_injected(restored, dialect) == before


def test_only_what_changes_is_written():
    messages = [user("go", "anthropic")]
    assert offer(messages, remove=["a", "a", "b"]).wrote
    assert offer(messages, remove=["a"]).outcome == "nothing_new"
    second = offer(messages, remove=["a", "c"], add=["b"])
    assert (
        "`a`" not in second.text and "`c` is no longer" in second.text and "`b` is available" in second.text
    )
    assert offered(messages, named("a", "b", "c")).names == {"b"}
    changed = {**ANTHROPIC, "description": "reads more"}
    assert offer(messages, add=[ANTHROPIC]).wrote
    assert offer(messages, add=[ANTHROPIC]).outcome == "nothing_new"
    assert offer(messages, add=[changed]).wrote
    assert offered(messages, []).definitions["read"].description == "reads more"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_the_middle_of_a_tool_loop(dialect):
    messages = [user("go", dialect), *tool_call("t1", dialect=dialect), *tool_result("t1", dialect=dialect)]
    before = render(messages, OPUS, dialect=dialect)
    assert offer(messages, remove=["lookup"], dialect=dialect).wrote
    sent = render(messages, OPUS, dialect=dialect)
    assert sent[: len(before)] == before
    assert [message["role"] for message in sent[len(before) :]] == ["system"]
    messages.append(assistant("ok", dialect))
    assert render(messages, OPUS, dialect=dialect)[: len(sent)] == sent


def test_an_answered_conversation_takes_no_change():
    messages = [user("go", "anthropic"), assistant("ok", "anthropic")]
    assert offer(messages, remove=["a"]).reason.startswith("the latest user message is answered")


def test_what_a_compaction_dropped_is_offered_again():
    messages = [user("go", "anthropic")]
    offer(messages, add=[ANTHROPIC])
    compacted = [user("summary", "anthropic")]
    assert offered(compacted, []).names == frozenset()
    assert offer(compacted, add=[ANTHROPIC]).wrote
    assert "tool_definition" in json.dumps(render(compacted, OPUS, dialect="anthropic"))


@pytest.mark.parametrize("form", FORMS, ids=["anthropic", "responses", "chat", "bedrock"])
@pytest.mark.parametrize(
    ("number", "provider"), list(enumerate(["anthropic", "openai_responses", "openai_chat", "bedrock"]))
)
def test_tools_are_declared_in_the_providers_form(form, number, provider):
    (made,) = declare([form], rules=pin_rules(provider, "m"))
    expected = {**FORMS[number], "strict": False} if provider == "openai_responses" else FORMS[number]
    assert made == (form if form is FORMS[number] else expected)


def test_future_tools_are_deferred_where_that_exists():
    now, later = named("read"), named("deploy")
    assert declare(now, later, rules=OPUS)[1] == {**later[0], "defer_loading": True}
    assert declare(now, later, rules=pin_rules("anthropic", "claude-sonnet-4-5")) == now + later
    assert len(declare(now, later, rules=pin_rules("openai_responses", "gpt-5.6"))) == 1
    assert len(declare(now, later, rules=pin_rules("openai_chat", "llama3.2"))) == 2
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert declare([search], later, rules=OPUS)[0] is search


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: declare(named("a", "a"), rules=OPUS), "declared once; twice are: a"),
        (lambda: declare([], named("a"), rules=OPUS), "one tool that is not deferred"),
        (lambda: offer([user("go", "anthropic")], add=["a"], remove=["a"]), "not both: a"),
        (
            lambda: offer([user("go", "anthropic")], add=[{"type": "x"}]),
            "a tool needs a name; this has the keys type",
        ),
    ],
)
def test_mistakes_are_said(make, message):
    with pytest.raises(ContextError, match=message):
        make()


def test_tools_that_a_search_found_may_be_called():
    declared = [{**tool, "defer_loading": True} for tool in named("deploy", "release", "scan")]
    found = {
        "type": "tool_search_tool_result",
        "tool_use_id": "s",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "deploy"}],
        },
    }
    by_client = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [{"type": "tool_reference", "tool_name": "scan"}],
    }
    messages = [user("go", "anthropic"), {"role": "assistant", "content": [found]}]
    messages += [{"role": "user", "content": [by_client]}]
    assert offered(messages, declared).names == {"deploy", "scan"}
    items = [{"type": "tool_search_output", "tools": [{"type": "function", "name": "release"}]}]
    assert offered(items, declared, "openai_responses").names == {"release"}


def test_the_prefix_check_leaves_deferred_tools_out_until_they_are_referred_to():
    plain, deferred = named("read"), [{**tool, "defer_loading": True} for tool in named("deploy", "scan")]
    ask = [{"role": "user", "content": "go"}]
    added = {
        "role": "system",
        "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "deploy"}}],
    }
    first = {"tools": plain, "messages": ask}
    later = {"tools": [*plain, *deferred], "messages": [*ask, added]}
    assert check_prefixes([first, later]).breaks == ()
    reworded = [plain[0], {**deferred[0], "description": "another"}, deferred[1]]
    changed = check_prefixes([later, {"tools": reworded, "messages": [*ask, added]}])
    assert [item.path for item in changed.breaks] == ["messages[1].content[0] (deploy)"]
    unreferenced = [*plain, deferred[0], {**deferred[1], "description": "another"}]
    assert check_prefixes([later, {"tools": unreferenced, "messages": [*ask, added]}]).breaks == ()


def test_a_removed_tool_is_named_by_its_place():
    tools, ask = named("read", "delete"), [{"role": "user", "content": "go"}]
    report = check_prefixes([{"tools": tools, "messages": ask}, {"tools": tools[:1], "messages": ask}])
    assert [item.path for item in report.breaks] == ["tools[1] (missing)"]


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        (
            "openai_chat",
            "gpt-5",
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "read"}}],
                },
            },
        ),
        (
            "openai_responses",
            "gpt-5",
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]},
        ),
        ("openai_chat", "llama3.2", None),
        ("anthropic", "claude-opus-5", None),
    ],
)
def test_a_choice_leaves_out_what_was_withdrawn(provider, model, expected):
    rules = pin_rules(provider, model)
    tools = declare(named("read", "delete"), rules=rules)
    messages = [{"role": "user", "content": "go"}]
    assert tool_choice(messages, tools, rules) is None
    offer(messages, remove=["delete"])
    assert tool_choice(messages, tools, rules) == expected
    offer(messages, add=["delete"])
    assert tool_choice(messages, tools, rules) is None


def test_a_choice_is_none_where_the_model_refuses_to_hear_of_an_added_tool():
    rules = pin_rules("openai_responses", "gpt-5.4")
    tools = declare(named("read", "delete"), rules=rules)
    messages = [{"role": "user", "content": "go"}]
    offer(messages, remove=["delete"], add=named("deploy"))
    assert tool_choice(messages, tools, rules) is None


def test_betas_of_the_caller_are_kept():
    messages = [user("go", "anthropic")]
    offer(messages, remove=["delete"])
    injector = Injector(ListMemory())
    listed = anthropic_adapter.request(injector, messages, OPUS, model="m", betas=["own"])
    assert listed["betas"] == ["own", "mid-conversation-tool-changes-2026-07-01"]
    headers = {"anthropic-beta": "own", "x": "y"}
    header = anthropic_adapter.request(injector, messages, OPUS, model="m", extra_headers=headers)
    assert header["extra_headers"] == {
        "anthropic-beta": "own,mid-conversation-tool-changes-2026-07-01",
        "x": "y",
    }
    assert "extra_headers" not in anthropic_adapter.request(
        injector, [user("a", "anthropic")], OPUS, model="m"
    )


def test_the_judge_of_types_refuses_what_the_sdks_do_not_know():
    pytest.importorskip("anthropic", reason="anthropic is not installed (extra: anthropic)")
    from anthropic.types.beta import BetaMessageParam

    good = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    assert conforms(good, BetaMessageParam)
    for bad in (
        {**good, "metadata": {}},
        {"role": "user"},
        {"role": "tool", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": 1}]},
        {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference"}}]},
    ):
        assert not conforms(bad, BetaMessageParam)
