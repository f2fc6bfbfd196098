"""The OpenAI Agents SDK with its SQLite session and a scripted model."""

from __future__ import annotations

import asyncio
import copy
import json
import warnings

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed (extra: openai-agents)")

from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from pi_rank.errors import ContextError
from pi_rank.injection import Injector, OwnText, strip_injected
from pi_rank.injection.adapters.openai_agents import run_config
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.prefix_check import check_prefixes
from pi_rank.injection.render import pin_rules
from tests.injection.sessions import TOPICS, topic_memory


@function_tool
def lookup(topic: str) -> str:
    """Look a topic up."""
    return f"the page about {topic}"


class ScriptedModel(Model):
    """Calls a tool when the user says "look up"; keeps every request."""

    def __init__(self):
        self.requests = []

    async def get_response(self, system_instructions, input, *_, **__):
        body = {"instructions": system_instructions, "input": copy.deepcopy(input)}
        self.requests.append(body)
        last = body["input"][-1]
        number = len(self.requests)
        if last.get("role") == "user" and "look up" in json.dumps(last):
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"t{number}", name="lookup", arguments='{"topic":"x"}'
            )
        else:
            text = ResponseOutputText(type="output_text", text=f"answer {number}", annotations=[])
            output = ResponseOutputMessage(
                id=f"m{number}", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def run(model, session, config, text):
    agent = Agent(name="a", instructions="be brief", model=model, tools=[lookup])
    return asyncio.run(Runner.run(agent, text, session=session, run_config=config))


def config_on(memory, **injector):
    return run_config(Injector(memory, **injector), RunConfig(tracing_disabled=True), server_state=False)


def test_ten_turns_with_tools_and_a_restart_keep_the_prefix(tmp_path):
    memory, model, path = topic_memory(), ScriptedModel(), str(tmp_path / "session.sqlite")
    session = SQLiteSession("s", path)
    for turn in range(10):
        if turn == 5:
            session = SQLiteSession("s", path)
        text = f"{'look up' if turn % 3 == 1 else 'tell me'} about {TOPICS[turn % 5]}"
        run(model, session, config_on(memory), text)
    assert check_prefixes(model.requests).breaks == ()
    sent = json.dumps(model.requests)
    assert "rule number" in sent
    assert "injected" not in sent
    assert "tracking_id" not in sent
    stored = asyncio.run(session.get_items())
    assert len(list(marks_in(stored))) == 5
    assert "rule number" not in json.dumps(strip_injected(stored))


def test_per_call_leaves_the_session_alone(tmp_path):
    model, session = ScriptedModel(), SQLiteSession("s", str(tmp_path / "session.sqlite"))
    for topic in ("tests", "review"):
        run(model, session, config_on(topic_memory(), mode="per_call"), f"tell me about {topic}")
    assert "rule number" not in json.dumps(asyncio.run(session.get_items()))
    assert all("rule number" in json.dumps(request["input"][-1]) for request in model.requests)
    assert len(check_prefixes(model.requests).undeclared) == 1


def test_callbacks_of_the_base_config_still_run(tmp_path):
    seen = []
    base = RunConfig(
        tracing_disabled=True,
        session_input_callback=lambda history, new: seen.append("merge") or history + new,
        call_model_input_filter=lambda data: seen.append("filter") or data.model_data,
    )
    model, session = ScriptedModel(), SQLiteSession("s", str(tmp_path / "session.sqlite"))
    run(model, session, run_config(Injector(topic_memory()), base), "tell me about tests")
    assert seen == ["merge", "filter"]
    assert "rule number" in json.dumps(model.requests)


def test_without_a_session_the_callers_own_list_is_injected():
    model, injector, items = ScriptedModel(), Injector(topic_memory()), []
    config = run_config(injector, RunConfig(tracing_disabled=True))
    for topic in ("tests", "review"):
        items.append({"role": "user", "content": f"tell me about {topic}"})
        injector.inject(items)
        result = run(model, None, config, items)
        items = result.to_input_list()
    assert check_prefixes(model.requests).breaks == ()
    assert "injected" not in json.dumps(model.requests)
    assert "About review: rule number 0" in json.dumps(model.requests[1]["input"][-1])


def test_a_run_without_a_session_says_that_it_goes_without_memory(tmp_path):
    model, config = ScriptedModel(), config_on(topic_memory())
    with pytest.warns(UserWarning, match="no session to store memory in"):
        run(model, None, config, "tell me about tests")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(model, SQLiteSession("s", str(tmp_path / "session.sqlite")), config, "tell me about tests")
        run(model, None, config, "hello there")  # there is no memory for it
        items = [{"role": "user", "content": "tell me about tests"}]
        asyncio.run(Injector(topic_memory()).ainject(items))
        run(model, None, config, items)
    assert [json.dumps(r["input"]).count("rule number 0") for r in model.requests] == [0, 1, 0, 1]


def test_a_per_call_injector_has_to_know_who_keeps_the_conversation():
    with pytest.raises(ContextError, match="needs server_state=False, or True"):
        run_config(Injector(topic_memory(), mode="per_call"))
    kept = run_config(
        Injector(topic_memory(), mode="per_call"), RunConfig(tracing_disabled=True), server_state=True
    )
    model = ScriptedModel()
    run(model, None, kept, "tell me about tests")
    assert "rule number" not in json.dumps(model.requests)


def test_operator_text_is_a_developer_message_by_the_pinned_rules(tmp_path):
    policy = OwnText(source="policy", content="Read-only.", rendering="developer", operator_text=True)
    injector = Injector(topic_memory(), texts=[policy])
    rules = pin_rules("openai_responses", "gpt-5")
    config = run_config(injector, RunConfig(tracing_disabled=True), rules=rules)
    model, session = ScriptedModel(), SQLiteSession("s", str(tmp_path / "session.sqlite"))
    for topic in ("tests", "review"):
        run(model, session, config, f"tell me about {topic}")
    roles = [item["role"] for item in model.requests[-1]["input"]]
    assert roles == ["user", "developer", "assistant", "user"]
    assert check_prefixes(model.requests).breaks == ()
