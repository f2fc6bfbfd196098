"""The real anthropic and openai clients against a local server that is as strict as the providers."""

from __future__ import annotations

import json

import pytest

from pi_rank.injection import Injector, strip_injected
from pi_rank.injection.adapters import anthropic as anthropic_adapter
from pi_rank.injection.adapters import openai as openai_adapter
from pi_rank.injection.prefix_check import check_prefixes
from pi_rank.injection.render import pin_rules
from tests.injection.recording_server import recording_server
from tests.injection.sessions import TOPICS, topic_memory

TURNS = [f"{'look up both' if n % 3 == 1 else 'tell me'} about {TOPICS[n % 5]}" for n in range(8)]


def restarted(messages):
    return json.loads(json.dumps(messages))


def assert_kept(recorder, messages, dialect):
    report = check_prefixes(recorder.bodies)
    assert report.breaks == ()
    assert "rule number" in json.dumps(recorder.bodies)
    assert "rule number" not in json.dumps(strip_injected(messages, dialect))
    return report


def test_anthropic_with_parallel_tools_a_retry_and_a_restart():
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed (extra: anthropic)")
    injector, rules = Injector(topic_memory()), pin_rules("anthropic", "claude-opus-5")
    options = {"model": "claude-opus-5", "max_tokens": 10, "system": "be brief"}
    messages = []
    with recording_server() as (url, recorder):
        client = anthropic.Anthropic(base_url=url, api_key="x", max_retries=2)
        for number, text in enumerate(TURNS):
            recorder.failures = 1 if number == 3 else 0
            messages = restarted(messages)
            messages.append({"role": "user", "content": text})
            while True:
                request = anthropic_adapter.request(injector, messages, rules, **options)
                response = client.messages.create(**request)
                messages.append(anthropic_adapter.reply(response))
                ids = [block.id for block in response.content if block.type == "tool_use"]
                if not ids:
                    break
                results = [{"type": "tool_result", "tool_use_id": i, "content": "a page"} for i in ids]
                messages.append({"role": "user", "content": results})
    report = assert_kept(recorder, messages, "anthropic")
    assert report.requests == 8 + 3 + 1
    assert report.thinking_invalidated == 0
    assert all('"cache_control"' in json.dumps(body["messages"][-1]) for body in recorder.bodies)


def test_openai_chat_with_parallel_tools_a_retry_and_a_restart():
    openai = pytest.importorskip("openai", reason="openai is not installed (extra: openai)")
    injector, rules = Injector(topic_memory()), pin_rules("openai_chat", "gpt-5")
    messages = [{"role": "system", "content": "be brief"}]
    with recording_server() as (url, recorder):
        client = openai.OpenAI(base_url=url, api_key="x", max_retries=2)
        for number, text in enumerate(TURNS):
            recorder.failures = 1 if number == 3 else 0
            messages = restarted(messages)
            messages.append({"role": "user", "content": text})
            while True:
                request = openai_adapter.chat_request(injector, messages, rules, model="gpt-5")
                reply = openai_adapter.chat_reply(client.chat.completions.create(**request))
                messages.append(reply)
                calls = reply.get("tool_calls", [])
                messages += [{"role": "tool", "tool_call_id": c["id"], "content": "a page"} for c in calls]
                if not calls:
                    break
    assert assert_kept(recorder, messages, "openai_chat").requests == 8 + 3 + 1


@pytest.mark.parametrize("server_state", [False, True])
def test_openai_responses_with_and_without_server_state(server_state):
    openai = pytest.importorskip("openai", reason="openai is not installed (extra: openai)")
    injector, rules = Injector(topic_memory()), pin_rules("openai_responses", "gpt-5")
    items, options = [], {"model": "gpt-5", "instructions": "be brief"}
    with recording_server() as (url, recorder):
        client = openai.OpenAI(base_url=url, api_key="x")
        for text in TURNS:
            items = restarted(items)
            items.append({"role": "user", "content": text})
            while True:
                request = openai_adapter.responses_request(injector, items, rules, **options)
                response = client.responses.create(**request)
                items += openai_adapter.responses_reply(response)
                if server_state:
                    options["previous_response_id"] = response.id
                calls = [item for item in response.output if item.type == "function_call"]
                items += [
                    {"type": "function_call_output", "call_id": call.call_id, "output": "a page"}
                    for call in calls
                ]
                if not calls:
                    break
    assert_kept(recorder, items, "openai_responses")
    sizes = [len(body["input"]) for body in recorder.bodies]
    assert max(sizes) == (2 if server_state else sizes[-1])


def test_per_call_writes_nothing_where_the_server_keeps_the_conversation():
    injector, rules = Injector(topic_memory(), mode="per_call"), pin_rules("openai_responses", "gpt-5")
    items = [{"role": "user", "content": "tell me about tests"}]
    request = openai_adapter.responses_request(injector, items, rules, model="m", previous_response_id="r")
    assert request["input"] == [{"role": "user", "content": "tell me about tests"}]


def test_breakpoints_of_tools_and_system_count():
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    options = {"system": [marked, marked], "tools": [{"name": "a", "cache_control": {}}, {"name": "b"}]}
    rules = pin_rules("anthropic", "claude-opus-5", breakpoints=2)
    messages = [{"role": "user", "content": "tell me about tests"}, {"role": "assistant", "content": "ok"}]
    messages.append({"role": "user", "content": "and review"})
    request = anthropic_adapter.request(Injector(topic_memory()), messages, rules, **options)
    assert json.dumps(request["messages"]).count("cache_control") == 1
