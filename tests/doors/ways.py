"""Every door, asked with all optional arguments left out. A door that is not installed skips, and says so."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from pi_rank import MemoryEngine, SessionContext, build_retrieval_context
from pi_rank.agents.shown import END, NOTE
from pi_rank.injection import Injector
from tests.doors.world import PROMPT, Answer, answer, stored


@contextmanager
def engine_of(world):
    with MemoryEngine.open(world.root) as engine:
        engine.sync()
        yield engine


def turn_in(world):
    return SessionContext(latest_user_message=PROMPT, working_directory=str(world.folder))


def engine(world):
    with engine_of(world) as opened:
        return answer(opened.build_retrieval_context(turn_in(world)).to_dict())


def module_function(world):
    return answer(build_retrieval_context(world.root, PROMPT).to_dict())


def batch(world):
    with engine_of(world) as opened:
        first, second = opened.retrieve_batch([turn_in(world)] * 2)
    assert first.markdown == second.markdown
    return answer(first.to_dict())


def shell_text(world):
    return Answer(world.run("context", PROMPT))


def shell_json(world):
    return answer(json.loads(world.run("context", PROMPT, "--json")))


def shell_pi_message(world):
    return Answer(json.loads(world.run("context", PROMPT, "--as", "pi-message"))["content"])


def shell_batch(world):
    line = json.dumps({"latest_user_message": PROMPT, "working_directory": str(world.folder)})
    return answer(json.loads(world.run("batch", "-", stdin=f"{line}\n")), reasons=False)


def shell_batch_parquet(world):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: parquet)")
    parquet = pytest.importorskip("pyarrow.parquet")
    turns = pyarrow.Table.from_pylist(
        [{"latest_user_message": PROMPT, "working_directory": str(world.folder)}]
    )
    parquet.write_table(turns, world.home / "turns.parquet")
    output = world.home / "answers.parquet"
    world.run("batch", str(world.home / "turns.parquet"), "-o", str(output))
    (row,) = parquet.read_table(output).to_pylist()
    names = ("selected", "hard_rules", "contested", "traces")
    return answer(row | {name: json.loads(row[name]) for name in names}, reasons=False)


@contextmanager
def server(world, *options):
    for needed in ("starlette", "uvicorn", "h11"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (extra: serve)")
    command = [sys.executable, "-m", "pi_rank.cli", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, cwd=world.folder, env=world.environment, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            host = process.stdout.readline().strip().removeprefix("http://")
            yield host
        finally:
            process.terminate()


def post(host, path, body):
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        response = connection.getresponse()
        value = json.loads(response.read())
        assert response.status == 200, value
        return value
    finally:
        connection.close()


def http_context(world):
    context = {"latest_user_message": PROMPT, "working_directory": str(world.folder)}
    with server(world) as host:
        return answer(post(host, "/context", {"context": context}), reasons=False)


def http_explain(world):
    context = {"latest_user_message": PROMPT, "working_directory": str(world.folder)}
    with server(world) as host:
        return answer(post(host, "/explain", {"context": context}))


def http_of_a_folder(world):
    with server(world, "--cwd", str(world.folder)) as host:
        return answer(post(host, "/explain", {"context": {"latest_user_message": PROMPT}}))


def mcp_explain(world):
    return answer(call_mcp(world, "explain", {"prompt": PROMPT}).structured_content)


def call_mcp(world, tool, arguments):
    pytest.importorskip("mcp_types", reason="the MCP SDK, version 2, is not installed (extra: mcp)")
    from mcp import Client, StdioServerParameters

    async def ask():
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "pi_rank.cli", "mcp"],
            env=world.environment,
            cwd=str(world.folder),
        )
        async with Client(parameters) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(asyncio.wait_for(ask(), 120))


def injected(text):
    """What an injector wrote behind the prompt."""
    assert text.startswith(PROMPT), text[:200]
    return Answer(stored(text.removeprefix(PROMPT)))


def hook(world, agent, event):
    """What a coding agent's hook gets, without the lines that tell whose it is."""
    asked = {"hook_event_name": event, "prompt": PROMPT, "cwd": str(world.folder)}
    words = ["hook", agent, "--no-daemon", "--deadline-ms", "120000"]
    found = json.loads(world.run(*words, stdin=json.dumps(asked)))
    text = found["content"] if agent == "pi" else found["hookSpecificOutput"]["additionalContext"]
    return Answer(stored(text.replace(f"{NOTE}\n", "").replace(f"\n{END}\n", "")))


def hook_of_pi(world):
    return hook(world, "pi", "before_agent_start")


def hook_of_claude_code(world):
    return hook(world, "claude-code", "UserPromptSubmit")


def injector(world):
    messages = [{"role": "user", "content": PROMPT}]
    with engine_of(world) as opened:
        Injector(opened).inject(messages)
    return injected(messages[0]["content"])


def pi_message_of_a_turn(world):
    with engine_of(world) as opened:
        return Answer(opened.build_retrieval_context(turn_in(world)).as_custom_message()["content"])


def strands(world):
    pytest.importorskip("strands", reason="strands-agents is not installed (extra: strands)")
    from tests.injection.adapters.test_strands import Agent, ScriptedModel, StrandsMemory

    with engine_of(world) as opened:
        model = ScriptedModel()
        Agent(model=model, plugins=[StrandsMemory(Injector(opened))], callback_handler=None)(PROMPT)
    return injected("".join(block["text"] for block in model.requests[0].body["messages"][0]["content"]))


def langchain(world):
    pytest.importorskip("langchain", reason="langchain is not installed (extra: langchain)")
    from tests.injection.adapters.test_langchain import InMemorySaver, ScriptedChat, agent_on, ask

    with engine_of(world) as opened:
        model = ScriptedChat()
        ask(agent_on(model, InMemorySaver(), opened), PROMPT)
    return injected(model.contents[0])


def openai_agents(world):
    pytest.importorskip("agents", reason="openai-agents is not installed (extra: openai-agents)")
    from tests.injection.adapters.test_openai_agents import ScriptedModel, SQLiteSession, config_on, run

    with engine_of(world) as opened:
        model = ScriptedModel()
        run(model, SQLiteSession("s", str(world.home / "session.sqlite")), config_on(opened), PROMPT)
    return injected(text_of(model.requests[0]["input"][0]))


def pydantic_ai(world):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed (extra: pydantic-ai)")
    from tests.injection.adapters.test_pydantic_ai import Script, agent_on

    with engine_of(world) as opened:
        script = Script()
        agent_on(script, opened).run_sync(PROMPT)
    return injected("".join(part["value"] for part in script.requests[0]["messages"][0]["content"]))


def anthropic_client(world):
    from pi_rank.injection.adapters.anthropic import request
    from pi_rank.injection.render import pin_rules

    with engine_of(world) as opened:
        rules = pin_rules("anthropic", "claude-opus-5")
        sent = request(Injector(opened), [{"role": "user", "content": PROMPT}], rules)
    return injected(text_of(sent["messages"][0]))


def openai_chat_client(world):
    from pi_rank.injection.adapters.openai import chat_request
    from pi_rank.injection.render import pin_rules

    with engine_of(world) as opened:
        rules = pin_rules("openai_chat", "gpt-5")
        sent = chat_request(Injector(opened), [{"role": "user", "content": PROMPT}], rules)
    return injected(text_of(sent["messages"][0]))


def openai_responses_client(world):
    from pi_rank.injection.adapters.openai import responses_request
    from pi_rank.injection.render import pin_rules

    with engine_of(world) as opened:
        rules = pin_rules("openai_responses", "gpt-5")
        sent = responses_request(Injector(opened), [{"role": "user", "content": PROMPT}], rules)
    return injected(text_of(sent["input"][0]))


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


DOORS = [
    engine,
    module_function,
    batch,
    shell_text,
    shell_json,
    shell_pi_message,
    shell_batch,
    shell_batch_parquet,
    http_context,
    http_explain,
    http_of_a_folder,
    mcp_explain,
    pi_message_of_a_turn,
    hook_of_pi,
    hook_of_claude_code,
    injector,
    strands,
    langchain,
    openai_agents,
    pydantic_ai,
    anthropic_client,
    openai_chat_client,
    openai_responses_client,
]
