"""Pydantic AI with its function model, histories stored as JSON."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed (extra: pydantic-ai)")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextContent, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from pi_rank.injection import Injector
from pi_rank.injection.adapters.pydantic_ai import PydanticMemory, without_injected
from pi_rank.injection.prefix_check import check_prefixes
from tests.injection.sessions import TOPICS, topic_memory


class Script:
    """Calls a tool when the user says "look up"; keeps every request as what a provider would be sent."""

    def __init__(self):
        self.requests = []

    def __call__(self, messages, info):
        self.requests.append({"messages": [wire(message) for message in messages]})
        asked = str(getattr(messages[-1].parts[-1], "content", ""))
        if messages[-1].parts[-1].part_kind == "user-prompt" and "look up" in asked:
            return ModelResponse(parts=[ToolCallPart("lookup", {"topic": "x"}, f"t{len(self.requests)}")])
        return ModelResponse(parts=[TextPart(f"answer {len(self.requests)}")])


def wire(message):
    parts = []
    for part in message.parts:
        content = part.args if part.part_kind == "tool-call" else part.content
        for item in content if isinstance(content, list) else [content]:
            text = item.content if isinstance(item, TextContent) else item
            parts.append({"type": part.part_kind, "value": text})
    return {"role": "assistant" if isinstance(message, ModelResponse) else "user", "content": parts}


def agent_on(script, store, **injector):
    agent = Agent(FunctionModel(script), capabilities=[PydanticMemory(Injector(store, **injector))])

    @agent.tool_plain
    def lookup(topic: str) -> str:
        """Look a topic up."""
        return f"the page about {topic}"

    return agent


def test_ten_turns_with_tools_and_restarts_keep_the_prefix():
    store, script, saved = topic_memory(), Script(), b"[]"
    for turn in range(10):
        history = ModelMessagesTypeAdapter.validate_json(saved)
        text = f"{'look up' if turn % 3 == 1 else 'tell me'} about {TOPICS[turn % 5]}"
        result = agent_on(script, store).run_sync(text, message_history=history)
        saved = result.all_messages_json()
    assert check_prefixes(script.requests).breaks == ()
    assert json.dumps(script.requests[-1]).count("rule number 0") == 5
    history = ModelMessagesTypeAdapter.validate_json(saved)
    assert b"rule number" in saved
    shown = without_injected(history)
    assert b"rule number" not in ModelMessagesTypeAdapter.dump_json(shown)
    assert len(shown) == len(history)


def test_every_turn_with_nothing_new_writes_nothing_after_tool_results():
    script = Script()
    result = agent_on(script, topic_memory(), trigger="every_turn").run_sync("look up tests")
    kinds = [part.part_kind for message in result.all_messages() for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text"]
    assert check_prefixes(script.requests).breaks == ()


def test_per_call_leaves_the_history_alone():
    script, history = Script(), []
    for topic in ("tests", "review"):
        agent = agent_on(script, topic_memory(), mode="per_call")
        history = agent.run_sync(f"tell me about {topic}", message_history=history).all_messages()
    assert b"rule number" not in ModelMessagesTypeAdapter.dump_json(history)
    assert all("rule number" in json.dumps(request["messages"][-1]) for request in script.requests)
    assert len(check_prefixes(script.requests).undeclared) == 1
