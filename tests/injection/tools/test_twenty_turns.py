"""Tools that come and go over twenty turns with thinking, sent by the clients, judged by their own types."""

from __future__ import annotations

import json

import pytest

from pi_rank.injection import Injector, strip_injected
from pi_rank.injection.adapters import anthropic as anthropic_adapter
from pi_rank.injection.adapters import openai as openai_adapter
from pi_rank.injection.prefix_check import check_prefixes
from pi_rank.injection.render import pin_rules, render
from pi_rank.injection.tools import declare, offer, offered
from tests.injection.recording_server import recording_server
from tests.injection.sessions import TOPICS, topic_memory
from tests.injection.shapes import assistant, tool_call, tool_result, user
from tests.injection.tools.typed import assert_of_type


def tool(name):
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return {"name": name, "description": f"the {name} tool", "input_schema": schema}


NOW, LATER, INLINE = [tool("read"), tool("delete_branch")], [tool("deploy")], tool("release")
CHANGES = {  # turn → what the operator changes before the model is called
    2: {"remove": ["delete_branch"], "text": "Branch deletion is disabled from now on."},
    5: {"add": ["deploy"]},
    8: {"add": [INLINE]},
    11: {"add": ["delete_branch"], "remove": ["deploy"]},
    14: {"remove": ["release"]},
    17: {"add": [INLINE, "deploy"]},
}
AFTERWARDS = {"read", "delete_branch", "deploy", "release"}
TEXTS = [f"{'look up' if n % 3 == 1 else 'tell me'} about {TOPICS[n % 5]}" for n in range(20)]


def converse(call, dialect, recorder=None):
    """Twenty turns, restored from JSON before each; `call` sends and answers with messages to append."""
    messages = []
    for number, text in enumerate(TEXTS):
        messages = json.loads(json.dumps(messages))
        messages.append(user(text, dialect))
        if number in CHANGES:
            assert offer(messages, **CHANGES[number], dialect=dialect).wrote
            assert (
                offer(messages, **{**CHANGES[number], "text": ""}, dialect=dialect).outcome == "nothing_new"
            )
        while True:
            replies, ids = call(messages)
            messages += replies
            if not ids:
                break
            messages += tool_result(*ids, dialect=dialect)
    return messages


def edited_tools(bodies):
    """The same conversation in the usual way: `tools` is edited, and no change is in the messages."""
    for number, body in enumerate(bodies):
        names = {"read", "delete_branch"}
        turns = sum(m["role"] == "user" and "about" in json.dumps(m) for m in body["messages"])
        for turn, change in CHANGES.items():
            if turn < turns:
                names |= {
                    added if isinstance(added, str) else added["name"] for added in change.get("add", ())
                }
                names -= set(change.get("remove", ()))
        tools = [t for t in (*NOW, *LATER, INLINE) if t["name"] in names]
        messages = [message for message in body["messages"] if message["role"] != "system"]
        yield {**body, "tools": tools, "messages": messages, "number": number}


def test_anthropic_keeps_the_prefix_and_all_thinking():
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed (extra: anthropic)")
    from anthropic.types.beta import BetaMessageParam, BetaToolUnionParam

    rules = pin_rules("anthropic", "claude-opus-5")
    tools, injector = declare(NOW, LATER, rules=rules), Injector(topic_memory())
    with recording_server() as (url, recorder):
        client = anthropic.Anthropic(base_url=url, api_key="x", max_retries=0)

        def call(messages):
            options = {"model": "claude-opus-5", "max_tokens": 10, "tools": tools}
            request = anthropic_adapter.request(injector, messages, rules, **options)
            response = client.messages.create(**request)
            ids = [block.id for block in response.content if block.type == "tool_use"]
            return [anthropic_adapter.reply(response)], ids

        messages = converse(call, "anthropic")
    report = check_prefixes(recorder.bodies)
    assert report.breaks == ()
    assert report.requests == 20 + 7
    last = recorder.bodies[-1]
    thoughts = [p for m in last["messages"] if m["role"] == "assistant" for p in m["content"]]
    assert sum(part["type"] == "thinking" for part in thoughts) == report.requests - 1  # none is lost
    edited = check_prefixes(list(edited_tools(recorder.bodies)))
    assert len(edited.breaks) == len(CHANGES)
    assert edited.thinking_invalidated > 50
    assert edited.breaks[0].path == "tools[1] (missing)"
    assert {json.dumps(body["tools"]) for body in recorder.bodies} == {json.dumps(tools)}
    assert offered(messages, tools, "anthropic").names == AFTERWARDS
    assert "Branch deletion" not in json.dumps(strip_injected(messages, "anthropic"))
    betas = {headers.get("anthropic-beta", "") for headers in recorder.headers}
    assert betas == {
        "",
        "mid-conversation-tool-changes-2026-07-01",
        "inline-tools-2026-09-15,mid-conversation-tool-changes-2026-07-01",
    }
    assert_of_type(BetaMessageParam, last["messages"])
    assert_of_type(BetaToolUnionParam, tools)


def test_openai_responses_keeps_the_prefix():
    openai = pytest.importorskip("openai", reason="openai is not installed (extra: openai)")
    from openai.types.responses import ResponseInputItemParam, ToolParam
    from openai.types.responses.tool_choice_allowed_param import ToolChoiceAllowedParam

    rules = pin_rules("openai_responses", "gpt-5.6")
    tools, injector = declare(NOW, LATER, rules=rules), Injector(topic_memory())
    changes = {5: {"add": LATER}, 17: {"add": [INLINE, *LATER]}}
    with recording_server() as (url, recorder), pytest.MonkeyPatch.context() as patch:
        for turn, change in changes.items():
            patch.setitem(CHANGES, turn, change)
        client = openai.OpenAI(base_url=url, api_key="x", max_retries=0)

        def call(items):
            request = openai_adapter.responses_request(injector, items, rules, model="gpt-5.6", tools=tools)
            response = client.responses.create(**request)
            ids = [item.call_id for item in response.output if item.type == "function_call"]
            return openai_adapter.responses_reply(response), ids

        items = converse(call, "openai_responses")
    report = check_prefixes(recorder.bodies)
    assert report.breaks == ()
    last = recorder.bodies[-1]
    additions = [item["tools"] for item in last["input"] if item.get("type") == "additional_tools"]
    assert [[t["name"] for t in group] for group in additions] == [
        ["deploy"],
        ["release"],
        ["release", "deploy"],
    ]
    assert offered(items, tools, "openai_responses").names == AFTERWARDS
    choices = [body.get("tool_choice") for body in recorder.bodies]
    allowed = [sorted(t["name"] for t in choice["tools"]) if choice else None for choice in choices]
    assert allowed[0] is None and allowed[-1] is None
    assert ["read"] in allowed and ["deploy", "read"] in allowed
    assert_of_type(ResponseInputItemParam, last["input"])
    assert_of_type(ToolParam, tools)
    assert_of_type(ToolChoiceAllowedParam, [choice for choice in choices if choice])


def local(rules, dialect):
    """Requests as `render` makes them, without a client."""
    bodies, key = [], "input" if rules.provider == "openai_responses" else "messages"

    def call(messages):
        bodies.append({"system": "s", key: json.loads(json.dumps(render(messages, rules, dialect=dialect)))})
        number = len(bodies)
        if "look up" in json.dumps(messages[-1]):
            return tool_call(f"t{number}", dialect=dialect), [f"t{number}"]
        return [assistant(f"answer {number}", dialect)], []

    return bodies, call


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-opus-5"),
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-sonnet-4-5"),
        ("bedrock", "us.anthropic.claude-opus-5-v1:0"),
        ("bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0"),
        ("openai_chat", "gpt-5"),
        ("openai_chat", "llama3.2"),
        ("openai_responses", "gpt-5.6"),
        ("openai_responses", "gpt-5"),
    ],
)
@pytest.mark.parametrize("dialect", ["strands", "anthropic", "openai_chat", "openai_responses"])
def test_every_dialect_keeps_the_prefix_by_every_providers_rules(provider, model, dialect):
    bodies, call = local(pin_rules(provider, model, breakpoints=0), dialect)
    messages = converse(call, dialect)
    assert check_prefixes(bodies).breaks == ()
    assert "tool_changes" not in json.dumps(bodies) and '"metadata"' not in json.dumps(bodies)
    assert "Branch deletion is disabled" in json.dumps(bodies[-1])
    declared = [tool("read"), tool("delete_branch"), {**tool("deploy"), "defer_loading": True}]
    assert offered(messages, declared, dialect).names == AFTERWARDS


def test_bedrocks_own_model_takes_the_changes():
    session = pytest.importorskip("botocore.session", reason="botocore is not installed (extra: strands)")
    from botocore.validate import ParamValidator

    rules = pin_rules("bedrock", "us.anthropic.claude-opus-5-v1:0")
    bodies, call = local(rules, "strands")
    converse(call, "strands")
    tools = declare(NOW, [*LATER, INLINE], rules=rules)
    request = {"modelId": "m", "messages": bodies[-1]["messages"], "toolConfig": {"tools": tools}}
    roles = [message["role"] for message in request["messages"]]
    assert roles.count("system") == len(CHANGES)
    kinds = {next(iter(part)) for m in request["messages"] if m["role"] == "system" for part in m["content"]}
    assert kinds == {"toolAddition", "toolRemoval", "text"}
    shape = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    report = ParamValidator().validate(request, shape)
    assert not report.has_errors(), report.generate_report()
