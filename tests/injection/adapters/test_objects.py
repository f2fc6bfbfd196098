"""Conversations of a framework's own message objects, and of the clients' response objects."""

from __future__ import annotations

import asyncio
import json

import pytest

from pi_rank.injection import (
    Injector,
    echoes,
    find_tripping,
    inject,
    own_words,
    quarantine,
    strip_injected,
)
from pi_rank.injection.history.live import live_records
from pi_rank.injection.render import pin_rules, render
from tests.injection.sessions import topic_memory

ASK = "tell me about tests"


def langchain_history():
    pytest.importorskip("langchain", reason="langchain is not installed (extra: langchain)")
    from langchain_core.messages import AIMessage, HumanMessage

    from pi_rank.injection.adapters.langchain import LangChainMemory

    given = [
        HumanMessage(ASK, id="1"),
        AIMessage("ok", id="2"),
        HumanMessage([{"type": "text", "text": ASK}]),
    ]
    state = {"messages": given[:1]}
    changed = LangChainMemory(Injector(topic_memory())).before_model(state, None)["messages"]
    return given, [*changed, *given[1:]]


def pydantic_history():
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed (extra: pydantic-ai)")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.function import FunctionModel

    from pi_rank.injection.adapters.pydantic_ai import PydanticMemory

    model = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("ok")]))
    agent = Agent(model, capabilities=[PydanticMemory(Injector(topic_memory()))])
    messages = agent.run_sync(ASK).all_messages()
    assert "rule number" in str(messages)
    return [ModelRequest(parts=[UserPromptPart([ASK])]), messages[1]], messages


@pytest.mark.parametrize("history", [langchain_history, pydantic_history])
def test_readers_take_a_frameworks_own_objects(history):
    given, messages = history()
    shown = strip_injected(messages)
    assert [type(message) for message in shown] == [type(message) for message in given]
    assert "rule number" not in str(shown) and "injected" not in str(shown)
    assert shown[1] is messages[1]
    assert own_words(messages) == ASK
    assert echoes("About tests: rule number 2 of tests", messages)
    (block_id,) = find_tripping(messages, lambda text: "rule number 2 of tests" in text)
    done = quarantine(messages, block_id)
    assert (done.message_index, "rule number" in str(messages), "by a guardrail" in str(messages)) == (
        0,
        False,
        True,
    )
    assert ASK in str(messages[0]) and "guardrail" not in str(strip_injected(messages))


@pytest.mark.parametrize("history", [langchain_history, pydantic_history])
def test_what_cannot_be_written_to_in_place_is_refused_and_says_so(history):
    _, messages = history()
    for write in (
        lambda: inject(messages[-1:], "text", source="s"),
        lambda: Injector(topic_memory()).inject(messages[-1:]),
        lambda: asyncio.run(Injector(topic_memory()).ainject(messages[-1:])),
    ):
        with pytest.raises(TypeError, match="cannot be written to in place: use the adapter"):
            write()


def test_objects_that_nobody_knows_are_an_error_not_left_as_they_are():
    class Message:
        content = "rule"

    for read in (
        strip_injected,
        own_words,
        lambda m: quarantine(m, "x"),
        lambda m: render(m, pin_rules("anthropic", "m")),
    ):
        with pytest.raises(
            TypeError, match=r"Message is no message dict, nor an object of a known framework"
        ):
            read([{"role": "user", "content": "hi"}, Message()])


def test_responses_of_the_anthropic_client_are_kept_and_sent_as_they_came():
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed (extra: anthropic)")
    thought = types.ThinkingBlock(type="thinking", thinking="hm", signature="sig")
    said = types.TextBlock(type="text", text="ok", citations=None)
    messages = [{"role": "user", "content": ASK}]
    injector = Injector(topic_memory())
    injector.inject(messages, dialect="anthropic")
    messages.append({"role": "assistant", "content": [thought, said]})  # as in the client's own documentation
    messages.append({"role": "user", "content": "again?"})
    injector.inject(messages, dialect="anthropic")
    sent = render(messages, pin_rules("anthropic", "claude-opus-5"), dialect="anthropic")
    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "ok", "citations": None},
    ]
    assert strip_injected(messages)[1]["content"][0] is thought


def test_items_of_the_openai_client_are_kept_and_sent_as_they_came():
    types = pytest.importorskip("openai.types.responses", reason="openai is not installed (extra: openai)")
    call = types.ResponseFunctionToolCall(type="function_call", call_id="t", name="lookup", arguments="{}")
    items = [{"role": "user", "content": ASK}]
    injector = Injector(topic_memory())
    injector.inject(items, dialect="openai_responses")
    items += [call, {"type": "function_call_output", "call_id": "t", "output": "42"}]
    assert injector.inject(items, dialect="openai_responses").outcome == "already_written"
    sent = render(items, pin_rules("openai_responses", "gpt-5"))
    assert json.dumps(sent[1]) == json.dumps(call.model_dump(mode="json", exclude_unset=True))
    assert live_records(items, injector.source).records


def test_langchains_summariser_sees_the_users_conversation():
    pytest.importorskip("langchain", reason="langchain is not installed (extra: langchain)")
    from langchain_core.language_models import FakeListChatModel

    from pi_rank.injection.adapters.langchain import SummarizationWithoutMemory

    asked = []

    class Listening(FakeListChatModel):
        def invoke(self, prompt, *arguments, **options):
            asked.append(str(prompt))
            return super().invoke(prompt, *arguments, **options)

        async def ainvoke(self, prompt, *arguments, **options):
            asked.append(str(prompt))
            return await super().ainvoke(prompt, *arguments, **options)

    _, messages = langchain_history()
    model = Listening(responses=["summary"])
    middleware = SummarizationWithoutMemory(model=model, trigger=("messages", 1), keep=("messages", 1))
    assert middleware._create_summary(messages) == "summary"
    assert asyncio.run(middleware._acreate_summary(messages)) == "summary"
    assert len(asked) == 2
    assert all(ASK in prompt and "rule number" not in prompt for prompt in asked)
