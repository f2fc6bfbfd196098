"""strands-agents' own loop, hooks, session manager and conversation manager, with a scripted local model."""

from __future__ import annotations

import copy
import json

import pytest

pytest.importorskip("strands", reason="strands-agents is not installed (extra: strands)")

from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.event_loop._retry import ModelRetryStrategy
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ModelThrottledException

from pi_rank.injection import Injector, inject, strip_injected
from pi_rank.injection.adapters.strands import StrandsMemory
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.prefix_check import Request, check_prefixes
from tests.injection.sessions import TOPICS, topic_memory


@tool
def lookup(topic: str) -> str:
    """Look a topic up.

    Args:
        topic: what to look up
    """
    return f"the page about {topic}"


class ScriptedModel(Model):
    """Calls a tool when asked to "look up", two in parallel for "both"; else answers. Keeps every request."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.declared = ""
        self.throttle = 0

    def update_config(self, **_):
        raise NotImplementedError

    def get_config(self):
        return {"model_id": "scripted"}

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        body = {"system": system_prompt, "messages": copy.deepcopy(messages)}
        self.requests.append(Request(body, self.declared))
        self.declared = ""
        if self.throttle:
            self.throttle -= 1
            raise ModelThrottledException("slow down")
        last = messages[-1]["content"]
        asked = last[0].get("text", "")
        calls = 2 if "both" in asked else 1 if "look up" in asked else 0
        yield {"messageStart": {"role": "assistant"}}
        for number in range(calls):
            use = {"toolUseId": f"t{len(self.requests)}_{number}", "name": "lookup"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"topic": "x"}'}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": f"answer {len(self.requests)}"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def agent_on(model: Model, tmp_path, memory, **injector) -> Agent:
    return Agent(
        model=model,
        tools=[lookup],
        system_prompt="be brief",
        plugins=[StrandsMemory(Injector(memory, **injector))],
        session_manager=FileSessionManager(session_id="s", storage_dir=str(tmp_path)),
        conversation_manager=SlidingWindowConversationManager(window_size=500, should_truncate_results=False),
        retry_strategy=ModelRetryStrategy(max_attempts=3, initial_delay=0, max_delay=0),
        callback_handler=None,
    )


def test_twenty_turns_with_tools_a_retry_a_restart_and_a_compaction(tmp_path):
    memory, model = topic_memory(), ScriptedModel()
    agent = agent_on(model, tmp_path, memory)
    for turn in range(20):
        topic = TOPICS[turn % len(TOPICS)]
        if turn == 6:
            model.throttle = 1
        if turn == 10:  # a new process: everything from the session manager's files
            before = json.loads(json.dumps(agent.messages))
            agent = agent_on(model, tmp_path, memory)
            assert agent.messages == before
        if turn == 15:
            agent.conversation_manager.window_size = 12
            agent.conversation_manager.reduce_context(agent)
            agent.conversation_manager.window_size = 500
            assert len(agent.messages) <= 12
            model.declared = "compaction"
        agent(
            f"{'look up both' if turn % 4 == 1 else 'look up' if turn % 4 == 3 else 'tell me'} about {topic}"
        )
    report = check_prefixes(model.requests)
    assert report.undeclared == ()
    assert [item.declared for item in report.breaks] == ["compaction"]
    assert report.requests == 20 + 5 + 5 + 1  # turns, two rounds for each tool turn, the retry
    assert_no_duplicates(agent.messages)
    assert len(list(marks_in(agent.messages))) >= 2  # what compaction dropped was written again
    preview = json.dumps(strip_injected(agent.messages))
    assert "Persistent Intelligence" not in preview
    assert "rule number" not in preview
    sent = json.dumps([request.body for request in model.requests])
    assert "rule number" in sent
    assert "injected" not in sent  # marks stay at home


def assert_no_duplicates(messages) -> None:
    live: dict[str, str] = {}
    for mark in marks_in(messages):
        for record_id, version in mark.versions_by_id():
            assert live.get(record_id) != version
            live[record_id] = version


def test_the_block_is_saved_before_it_is_sent(tmp_path):
    model = ScriptedModel()

    class FailingModel(ScriptedModel):
        async def stream(self, messages, *args, **kwargs):
            saved = [json.loads(path.read_text()) for path in sorted(tmp_path.rglob("message_*.json"))]
            assert "rule number" in json.dumps(saved[-1]["message"])
            async for event in model.stream(messages, *args, **kwargs):
                yield event

    agent_on(FailingModel(), tmp_path, topic_memory())("tell me about tests")
    assert len(model.requests) == 1


def test_a_failed_turn_is_retried_by_the_user_without_a_second_copy(tmp_path):
    model = ScriptedModel()
    agent = agent_on(model, tmp_path, topic_memory())
    model.throttle = 3
    with pytest.raises(ModelThrottledException):
        agent("tell me about tests")
    agent("tell me about tests")
    assert_no_duplicates(agent.messages)
    assert check_prefixes(model.requests).breaks == ()


def test_per_call_mode_leaves_the_history_alone_and_breaks_the_prefix(tmp_path):
    model = ScriptedModel()
    agent = agent_on(model, tmp_path, topic_memory(), mode="per_call")
    for topic in ("tests", "review"):
        agent(f"tell me about {topic}")
    assert "rule number" not in json.dumps(agent.messages)
    assert all("rule number" in json.dumps(request.body["messages"][-1]) for request in model.requests)
    assert len(check_prefixes(model.requests).undeclared) == 1


def test_every_turn_also_writes_beside_tool_results(tmp_path):
    model = ScriptedModel()
    agent = agent_on(model, tmp_path, topic_memory(), trigger="every_turn")
    agent("look up tests")
    assert check_prefixes(model.requests).breaks == ()
    assert_no_duplicates(agent.messages)


def test_an_agent_cannot_have_one_injector_twice():
    plugin = StrandsMemory(Injector(topic_memory()))
    with pytest.raises(ValueError, match="already registered"):
        Agent(model=ScriptedModel(), plugins=[plugin, plugin], callback_handler=None)


def test_bedrocks_formatter_sends_no_mark(monkeypatch):
    from strands.models.bedrock import BedrockModel

    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    text = inject(messages, "memory", source="pi").text
    formatted = BedrockModel(model_id="m")._format_bedrock_messages(messages)
    assert formatted == [{"role": "user", "content": [{"text": "hi"}, {"text": text}]}]
