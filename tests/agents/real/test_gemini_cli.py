"""Gemini CLI itself, unchanged, with our hook, against a model of ours."""

from __future__ import annotations

import json
import sys

import pytest

from pi_rank.cli.program import main
from tests.support.agents import conversation as talk
from tests.support.agents.homes import GEMINI_OPTIONS, gemini_cli


@pytest.fixture
def agent(server, tmp_path, memory):
    found = gemini_cli(server, tmp_path, memory)
    found.install("--no-mcp")
    yield found
    found.close()


def test_each_turn_has_what_is_new(agent, server, memory, tmp_path, capsys):
    agent.run(*GEMINI_OPTIONS, "-p", talk.PROMPTS[0])
    agent.run(*GEMINI_OPTIONS, "--resume", "latest", "-p", talk.PROMPTS[1])
    agent.run(*GEMINI_OPTIONS, "--resume", "latest", "-p", talk.PROMPTS[2])
    talk.delete(memory)
    agent.run(*GEMINI_OPTIONS, "--resume", "latest", "-p", talk.PROMPTS[3])
    bodies = server.main()
    assert len(bodies) == 5
    talk.check_place(bodies[0], talk.PROMPTS[0], "user", "after")
    talk.check_place(bodies[-1], talk.PROMPTS[3], "user", "after")
    talk.check_novelty(bodies)
    talk.check_kept(bodies)
    assert f"- {talk.DELETED}: deleted since it was recalled above" in talk.blocks(bodies[-1])[-1]
    # Its own resume sends a tool's result twice: the check finds that, and no break at a block of ours.
    main(["prefix-check", "--json", str(server.write(tmp_path / "bodies.jsonl"))])
    report = json.loads(capsys.readouterr().out)
    assert report["requests"] == 5
    for each in report["breaks"]:
        message, _, part = each["path"].removeprefix("contents[").partition("].parts[")
        parts = bodies[each["request"] - 1]["contents"][int(message)]["parts"]
        assert "functionResponse" in json.dumps(parts[int(part.rstrip("]"))]) or int(message) > 0
        assert talk.MARK not in json.dumps(parts[int(part.rstrip("]"))])


def test_an_installation_that_has_gone_blocks_no_prompt(agent, server):
    """It takes the shell's own code for a missing command, 127, as an order to drop the prompt."""
    settings = agent.home / ".gemini" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace(sys.executable, "/nowhere/python"), "utf-8")
    agent.run(*GEMINI_OPTIONS, "-p", talk.PROMPTS[0])
    assert talk.blocks(server.main()[0]) == []


@pytest.mark.parametrize("command", ["echo no >&2; exit 1", "sleep 60"])
def test_a_turn_goes_on_whatever_becomes_of_the_hook(agent, server, command):
    settings = agent.home / ".gemini" / "settings.json"
    value = json.loads(settings.read_text("utf-8"))
    value["hooks"]["BeforeAgent"][0]["hooks"][0].update(command=command, timeout=1000)
    settings.write_text(json.dumps(value), "utf-8")
    agent.run(*GEMINI_OPTIONS, "-p", talk.PROMPTS[0])
    assert talk.blocks(server.main()[0]) == []
