"""Claude Code itself, unchanged, with our hook, against a model of ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

import pi_rank
from tests.support.agents import conversation as talk
from tests.support.agents.homes import CLAUDE_OPTIONS, claude_code


@pytest.fixture
def agent(server, tmp_path, memory):
    found = claude_code(server, tmp_path, memory)
    found.install("--no-mcp")
    yield found
    found.close()


def turn(agent, prompt, *options):
    """One prompt in a process of its own; the session's id."""
    return json.loads(agent.run("-p", prompt, *CLAUDE_OPTIONS, *options))["session_id"]


def test_each_turn_has_what_is_new_and_after_a_compaction_all_again(agent, server, memory, tmp_path, capsys):
    session = turn(agent, talk.PROMPTS[0])
    turn(agent, talk.PROMPTS[1], "--continue")
    os.kill(agent.daemon, signal.SIGKILL)  # which its first hook has started
    turn(agent, talk.PROMPTS[2], "--continue")
    talk.delete(memory)
    turn(agent, talk.PROMPTS[3], "--resume", session)
    bodies = server.main()
    assert len(bodies) == 5
    for body, words in zip((bodies[0], bodies[-1]), (talk.PROMPTS[0], talk.PROMPTS[3]), strict=True):
        talk.check_place(body, words, "user", "before")
    talk.check_novelty(bodies)
    talk.check_kept(bodies)
    talk.check_prefixes(server, tmp_path / "bodies.jsonl", capsys)
    first = talk.blocks(bodies[0])[0]
    assert talk.DELETED in talk.shown(first)
    assert f"- {talk.DELETED}: deleted since it was recalled above" in talk.blocks(bodies[-1])[-1]

    turn(agent, "/compact", "--continue")
    turn(agent, talk.PROMPTS[0], "--continue")
    (again,) = talk.blocks(server.main()[-1])
    assert {"mem_20260112_pushmain", "mem_20260111_deploystyle"} <= set(talk.shown(again)) & set(
        talk.shown(first)
    )
    assert talk.DELETED not in again


FAILURES = {
    "missing": ("/nowhere/python hook", 5),
    "failing": ("echo no JSON >&2; exit 1", 5),
    "slow": ("sleep 60", 1),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_turn_goes_on_whatever_becomes_of_the_hook(agent, server, failure):
    settings = agent.home / ".claude" / "settings.json"
    value = json.loads(settings.read_text("utf-8"))
    command, timeout = FAILURES[failure]
    value["hooks"]["UserPromptSubmit"][0]["hooks"][0].update(command=command, timeout=timeout)
    settings.write_text(json.dumps(value), "utf-8")
    turn(agent, talk.PROMPTS[0])
    (body,) = server.main()
    assert talk.blocks(body) == []


def test_an_installation_that_has_gone_blocks_no_prompt(agent, server):
    """Python's own exit code for a missing file is 2, with which a hook blocks a prompt."""
    settings = agent.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace("launch.py", "gone.py"), "utf-8")
    turn(agent, talk.PROMPTS[0])
    assert len(server.main()) == 1


def test_a_memory_that_is_not_there_says_nothing(agent, server):
    agent.variables["PI_MEMORY_ROOT"] = str(agent.home / "nowhere")
    turn(agent, talk.PROMPTS[0])
    (body,) = server.main()
    assert talk.blocks(body) == []
    assert "nowhere" in agent.pi_rank("installed").stderr


def test_the_plugin_folder_asks_the_pi_rank_on_path(server, tmp_path, memory):
    agent = claude_code(server, tmp_path, memory)
    agent.variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{agent.variables['PATH']}"
    if shutil.which("pi-rank", path=agent.variables["PATH"]) is None:
        pytest.skip("pi-rank is not on PATH")
    agent.pi_rank("sync")
    agent.pi_rank("daemon", "start")
    try:
        folder = Path(pi_rank.__file__).parent / "agents" / "plugins" / "claude-code"
        for _ in range(
            4
        ):  # its deadline is the usual one, which a machine that is busy with other tests may miss
            turn(agent, talk.PROMPTS[0], "--plugin-dir", str(folder))
            if found := talk.blocks(server.main()[-1]):
                break
        assert talk.DELETED in talk.shown(found[0])
    finally:
        agent.close()
