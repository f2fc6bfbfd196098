"""strands-agents beside the plain turn: given messages, stores, structured output, other readers."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

pytest.importorskip("strands", reason="strands-agents is not installed (extra: strands)")

from pydantic import BaseModel
from strands import Agent
from strands.memory import MemoryManager
from strands.models.bedrock import BedrockModel
from strands.session.file_session_manager import FileSessionManager

from pi_rank.injection import Injector, OwnText, find_tripping, strip_injected
from pi_rank.injection.adapters.strands import RULES, StrandsMemory, pinned_rules, quarantine
from pi_rank.injection.adapters.strands_readers import (
    ExtractorWithoutMemory,
    SummarizingWithoutMemory,
    users_words,
)
from tests.injection.adapters.test_strands import ScriptedModel, lookup
from tests.injection.sessions import topic_memory


def agent_on(model, memory=None, injector=None, **options):
    plugins = [StrandsMemory(injector or Injector(memory or topic_memory())), *options.pop("plugins", [])]
    return Agent(model=model, tools=[lookup], plugins=plugins, callback_handler=None, **options)


def sent(model):
    return json.dumps([request.body["messages"] for request in model.requests])


def stored(folder):
    return "".join(path.read_text() for path in sorted(folder.rglob("message_*.json")))


def sessions(folder):
    return FileSessionManager(session_id="s", storage_dir=str(folder))


def test_messages_that_were_given_get_memory_and_are_stored_with_it(tmp_path):
    model = ScriptedModel()
    given = [{"role": "user", "content": [{"text": "tell me about tests"}]}]
    agent = agent_on(model, messages=given, session_manager=sessions(tmp_path))
    agent()
    assert "rule number" in sent(model)
    assert "rule number" in stored(tmp_path)
    agent("and about review")
    assert sent(model).count("rule number 0 of tests") == 2  # once in each request


def test_the_prompt_that_forces_structured_output_is_not_the_users():
    class Out(BaseModel):
        answer: str

    class Forced(ScriptedModel):
        async def stream(self, messages, *arguments, tool_choice=None, **options):
            if not tool_choice:
                async for event in super().stream(messages, *arguments, **options):
                    yield event
                return
            self.requests.append(type("R", (), {"body": {"messages": json.loads(json.dumps(messages))}}))
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "o", "name": "Out"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"answer": "y"}'}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}

    memory, model = topic_memory(), Forced()
    agent_on(model, memory)("tell me about tests", structured_output_model=Out)
    assert memory.asked == ["tell me about tests"]
    assert len(model.requests) == 2


def test_a_quarantined_block_is_gone_from_the_store_and_from_a_restored_agent(tmp_path):
    agent = agent_on(ScriptedModel(), session_manager=sessions(tmp_path))
    agent("tell me about tests")
    (block_id,) = find_tripping(agent.messages, lambda text: "rule number 2 of tests" in text)
    quarantine(agent, block_id)
    assert "rule number" not in stored(tmp_path)
    restored = agent_on(ScriptedModel(), session_manager=sessions(tmp_path))
    assert restored.messages == json.loads(json.dumps(agent.messages))
    restored("again about tests")
    assert "rule number" not in json.dumps(restored.messages)


def test_a_block_that_was_quarantined_in_the_list_is_stored_at_the_next_turn(tmp_path):
    from pi_rank.injection import quarantine as in_the_list

    agent = agent_on(ScriptedModel(), session_manager=sessions(tmp_path))
    agent("tell me about tests")
    in_the_list(agent.messages, agent.messages[0]["metadata"]["injected"][0]["id"])
    agent("hello there")
    assert "rule number" not in stored(tmp_path)


def under(provider, model_id):
    named = type(provider, (ScriptedModel,), {"get_config": lambda self: {"model_id": model_id}})
    return named()


def test_a_model_that_refuses_text_beside_tool_results_gets_them_alone():
    model = under("BedrockModel", "us.meta.llama4-maverick-17b-instruct-v1:0")
    steps = iter(range(9))
    step = OwnText(source="step", content=lambda: f"Step {next(steps)}.")
    agent = agent_on(model, injector=Injector(topic_memory(), trigger="every_turn", texts=[step]))
    agent("look up tests")
    agent("tell me about review")
    assert any("toolResult" in part for m in agent.messages for part in m["content"])
    for message in model.requests[-1].body["messages"]:
        kinds = {next(iter(part)) for part in message["content"]}
        assert kinds == {"toolResult"} or "toolResult" not in kinds


def test_rules_are_pinned_with_the_agents_state_and_operators_text_is_set_apart(tmp_path):
    policy = OwnText(source="policy", content="Read-only.", rendering="system", operator_text=True)
    model = under("AnthropicModel", "claude-opus-5")
    injector = Injector(topic_memory(), texts=[policy])
    agent = agent_on(model, injector=injector, session_manager=sessions(tmp_path))
    agent("tell me about tests")
    agent("tell me about review")
    assert [m["role"] for m in model.requests[-1].body["messages"]] == ["user", "system", "assistant", "user"]
    assert model.requests[-1].body["messages"][1]["content"] == [{"text": "Read-only."}]
    assert agent.state.get(RULES)["model"] == "claude-opus-5"
    restored = agent_on(under("AnthropicModel", "claude-opus-5"), session_manager=sessions(tmp_path))
    assert pinned_rules(restored) == pinned_rules(agent)
    later = agent_on(under("AnthropicModel", "claude-sonnet-4-5"), session_manager=sessions(tmp_path))
    assert pinned_rules(later).resets == ("claude-opus-5 -> claude-sonnet-4-5",)


def test_agents_on_one_loop_recall_at_the_same_time():
    together = threading.Barrier(3, timeout=60)  # nobody passes before three recalls are under way

    class Meeting:
        def __init__(self):
            self.memory = topic_memory()
            self.record_statuses = self.memory.record_statuses

        def build_retrieval_context(self, turn):
            together.wait()
            return self.memory.build_retrieval_context(turn)

    async def turns():
        agents = [agent_on(ScriptedModel(), Meeting()) for _ in range(3)]
        await asyncio.gather(*(agent.invoke_async("tell me about tests") for agent in agents))
        return json.dumps([agent.messages for agent in agents])

    assert asyncio.run(turns()).count("rule number 0 of tests") == 3
    assert not together.broken


def test_summaries_are_made_of_the_users_conversation():
    model = ScriptedModel()
    manager = SummarizingWithoutMemory(summary_ratio=0.5, preserve_recent_messages=2)
    agent = agent_on(model, conversation_manager=manager)
    for topic in ("tests", "review", "linting", "database"):
        agent(f"tell me about {topic}")
    model.requests.clear()
    manager.reduce_context(agent)
    assert "tell me about tests" in sent(model)
    assert "rule number" not in sent(model)


def test_a_memory_manager_neither_learns_nor_asks_by_what_was_injected():
    learned, asked = [], []

    class Store:
        name, description, max_search_results, writable = "notes", "", None, True

        def __init__(self):
            self.extraction = {"extractor": ExtractorWithoutMemory(self)}

        async def extract(self, messages, context=None):
            learned.append(json.dumps(messages))
            return []

        async def search(self, query, options=None):
            asked.append(query)
            return []

        async def add(self, content, metadata=None):
            raise AssertionError("nothing was extracted")

    manager = MemoryManager(stores=[Store()], injection={"query": lambda context: users_words(context)})
    agent = agent_on(ScriptedModel(), plugins=[manager])
    for topic in ("tests", "review", "linting", "database", "deploys", "tests"):
        agent(f"tell me about {topic}")
    asyncio.run(manager.flush())
    assert "tell me about tests" in "".join(learned)
    assert "rule number" not in "".join(learned)
    assert asked[0] == "tell me about tests"
    assert "rule number" not in "".join(asked)


def test_bedrocks_guardrail_on_the_latest_message_sees_the_injected_text_too(monkeypatch):
    """The SDK wraps every text of the message: documented, since a plugin has no say in it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    messages = [{"role": "user", "content": [{"text": "tell me about tests"}]}]
    Injector(topic_memory()).inject(messages)
    model = BedrockModel(model_id="m", guardrail_id="g", guardrail_version="1", guardrail_latest_message=True)
    formatted = model._format_bedrock_messages(strip_injected(messages))
    assert [next(iter(part)) for part in formatted[0]["content"]] == ["guardContent"]
    wrapped = model._format_bedrock_messages(messages)[0]["content"]
    assert [next(iter(part)) for part in wrapped] == ["guardContent", "guardContent"]


def test_the_sdks_spans_leave_texts_out_by_its_own_setting(monkeypatch):
    from strands.telemetry.tracer import Tracer

    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_unredacted_attributes=")
    messages = [{"role": "user", "content": [{"text": "tell me about tests"}]}]
    text = Injector(topic_memory()).inject(messages).text
    assert text.strip() not in str(Tracer()._redact("gen_ai.input.messages", json.dumps(messages)))
