"""LangChain's agent with a checkpointer and a scripted chat model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed (extra: langchain)")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from pi_rank.injection import Injector
from pi_rank.injection.adapters.langchain import MARKS, LangChainMemory, without_injected
from pi_rank.injection.prefix_check import check_prefixes
from tests.injection.sessions import TOPICS, topic_memory

THREAD = {"configurable": {"thread_id": "t"}}


@tool
def lookup(topic: str) -> str:
    """Look a topic up."""
    return f"the page about {topic}"


class ScriptedChat(BaseChatModel):
    """Calls a tool when the human says "look up"; keeps every request in OpenAI's form."""

    requests: list[dict[str, Any]] = Field(default_factory=list)
    contents: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.contents.append(messages[-1].content)
        self.requests.append({"messages": convert_to_openai_messages(messages)})
        calls = []
        if messages[-1].type == "human" and "look up" in str(messages[-1].content):
            calls = [{"name": "lookup", "args": {"topic": "x"}, "id": f"t{len(self.requests)}"}]
        reply = AIMessage("" if calls else f"answer {len(self.requests)}", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def agent_on(model, saver, memory, **injector):
    middleware = [LangChainMemory(Injector(memory, **injector))]
    return create_agent(model, [lookup], middleware=middleware, checkpointer=saver, system_prompt="be brief")


def ask(agent, text):
    return agent.invoke({"messages": [HumanMessage(text)]}, THREAD)["messages"]


def test_ten_turns_with_tools_and_a_restart_keep_the_prefix():
    memory, model, saver = topic_memory(), ScriptedChat(), InMemorySaver()
    agent = agent_on(model, saver, memory)
    for turn in range(10):
        if turn == 5:
            agent = agent_on(model, saver, memory)
        messages = ask(agent, f"{'look up' if turn % 3 == 1 else 'tell me'} about {TOPICS[turn % 5]}")
    assert check_prefixes(model.requests).breaks == ()
    written = [m for m in messages if MARKS in m.additional_kwargs]
    assert len(written) == 5  # one per topic: the second round has nothing new
    assert "metadata" not in json.dumps(model.requests)
    assert "rule number" in json.dumps(model.requests)
    shown = without_injected(messages)
    assert "rule number" not in str([message.content for message in shown])
    assert [m.id for m in shown] == [m.id for m in messages]


def test_content_blocks_are_sent_without_marks():
    memory, model = topic_memory(), ScriptedChat()
    agent = agent_on(model, InMemorySaver(), memory)
    message = HumanMessage([{"type": "text", "text": "tell me about tests"}])
    agent.invoke({"messages": [message]}, THREAD)
    assert [sorted(part) for part in model.contents[0]] == [["text", "type"], ["text", "type"]]


def test_every_turn_adds_a_message_after_tool_outputs():
    memory, model = topic_memory(), ScriptedChat()
    agent = agent_on(model, InMemorySaver(), memory, trigger="every_turn")
    ask(agent, "tell me about tests")
    memory.set("mem_review_0", statement="look up: about review")
    messages = ask(agent, "look up linting")
    kinds = [message.type for message in messages]
    assert kinds == ["human", "ai", "human", "ai", "tool", "ai"]
    assert check_prefixes(model.requests).breaks == ()


def test_per_call_leaves_the_state_alone():
    model = ScriptedChat()
    agent = agent_on(model, InMemorySaver(), topic_memory(), mode="per_call")
    for topic in ("tests", "review"):
        messages = ask(agent, f"tell me about {topic}")
    assert "rule number" not in str(messages)
    assert all("rule number" in json.dumps(request["messages"][-1]) for request in model.requests)
    assert len(check_prefixes(model.requests).undeclared) == 1


def test_the_async_agent_injects_too():
    model = ScriptedChat()
    agent = agent_on(model, InMemorySaver(), topic_memory())
    asyncio.run(agent.ainvoke({"messages": [HumanMessage("tell me about tests")]}, THREAD))
    assert "rule number" in json.dumps(model.requests)
