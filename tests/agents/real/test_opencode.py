"""opencode itself, unchanged, with our plugin, against a model of ours."""

from __future__ import annotations

import json

import pytest

from tests.support.agents import conversation as talk
from tests.support.agents.homes import opencode


@pytest.fixture
def agent(server, tmp_path, memory):
    found = opencode(server, tmp_path, memory)
    found.install("--no-mcp")
    yield found
    found.close()


def test_each_turn_has_what_is_new(agent, server, memory, tmp_path, capsys):
    agent.run("run", talk.PROMPTS[0])
    agent.run("run", "-c", talk.PROMPTS[1])
    agent.run("run", "-c", talk.PROMPTS[2])
    talk.delete(memory)
    agent.run("run", "-c", talk.PROMPTS[3])
    bodies = server.main()
    assert len(bodies) == 5
    talk.check_place(bodies[0], talk.PROMPTS[0], "user", "after")
    talk.check_place(bodies[-1], talk.PROMPTS[3], "user", "after")
    talk.check_novelty(bodies)
    talk.check_kept(bodies)
    talk.check_prefixes(server, tmp_path / "bodies.jsonl", capsys)
    assert f"- {talk.DELETED}: deleted since it was recalled above" in talk.blocks(bodies[-1])[-1]


@pytest.mark.parametrize("command", [["/nowhere/python"], ["sleep", "60"]])
def test_a_turn_goes_on_whatever_becomes_of_the_hook(agent, server, command):
    plugin = agent.home / ".config" / "opencode" / "plugins" / "pi-rank.ts"
    lines = plugin.read_text("utf-8").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("const COMMAND = "))
    lines[at : at + 2] = [f"const COMMAND = {json.dumps(command)};", "const OPTIONS = [];"]
    plugin.write_text("\n".join(lines), "utf-8")
    agent.run("run", talk.PROMPTS[0])
    assert talk.blocks(server.main()[0]) == []
