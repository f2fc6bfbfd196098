"""Codex CLI itself, unchanged, with our hook, against a model of ours."""

from __future__ import annotations

import pytest

from tests.support.agents import conversation as talk
from tests.support.agents.homes import CODEX_OPTIONS, codex


@pytest.fixture
def agent(server, tmp_path, memory):
    found = codex(server, tmp_path, memory)
    found.install("--no-mcp")
    yield found
    found.close()


def test_each_turn_has_what_is_new(agent, server, memory, tmp_path, capsys):
    agent.run("exec", *CODEX_OPTIONS, talk.PROMPTS[0])
    for prompt in talk.PROMPTS[1:3]:
        agent.run("exec", "resume", "--last", *CODEX_OPTIONS, prompt)
    talk.delete(memory)
    agent.run("exec", "resume", "--last", *CODEX_OPTIONS, talk.PROMPTS[3])
    bodies = server.main()
    assert len(bodies) == 5
    talk.check_place(bodies[0], talk.PROMPTS[0], "developer", "own message after")
    talk.check_place(bodies[-1], talk.PROMPTS[3], "developer", "own message after")
    talk.check_novelty(bodies)
    talk.check_kept(bodies)
    talk.check_prefixes(server, tmp_path / "bodies.jsonl", capsys)
    assert "not an instruction" in talk.blocks(bodies[0])[0]  # which the developer's role would make of it
    assert f"- {talk.DELETED}: deleted since it was recalled above" in talk.blocks(bodies[-1])[-1]


@pytest.mark.parametrize("command", ["/nowhere/python hook", "echo no JSON; exit 1", "sleep 60"])
def test_a_turn_goes_on_whatever_becomes_of_the_hook(agent, server, command):
    config = agent.home / ".codex" / "config.toml"
    lines = config.read_text("utf-8").splitlines()
    lines = [f'command = "{command}"' if line.startswith("command = ") else line for line in lines]
    lines = ["timeout = 1" if line.startswith("timeout = ") else line for line in lines]
    config.write_text("\n".join(lines), "utf-8")
    agent.run("exec", *CODEX_OPTIONS, talk.PROMPTS[0])
    (body,) = server.main()
    assert talk.blocks(body) == []
