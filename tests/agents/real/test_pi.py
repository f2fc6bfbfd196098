"""The pi coding agent itself, unchanged, with our extension, against a model of ours."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.agents import conversation as talk
from tests.support.agents.homes import PI_OPTIONS, pi

CUSTOM_TYPE = "pi-persistent-intelligence-context"


@pytest.fixture
def agent(server, tmp_path, memory):
    found = pi(server, tmp_path, memory)
    found.install()
    yield found
    found.close()


def entries(agent):
    (session,) = (agent.home / ".pi" / "agent" / "sessions").rglob("*.jsonl")
    return [json.loads(line) for line in session.read_text("utf-8").splitlines()]


def test_each_turn_has_what_is_new_and_a_resumed_one_what_was_withdrawn(
    agent, server, memory, tmp_path, capsys
):
    agent.run(*PI_OPTIONS, "-p", *talk.PROMPTS[:3])
    talk.delete(memory)
    agent.run(*PI_OPTIONS, "-c", "-p", talk.PROMPTS[3])
    bodies = server.main()
    assert len(bodies) == 5  # three turns, a tool's round, a resumed turn
    talk.check_place(bodies[0], talk.PROMPTS[0], "user", "own message after")
    talk.check_place(bodies[-1], talk.PROMPTS[3], "user", "own message after")
    talk.check_novelty(bodies)
    talk.check_kept(bodies)
    talk.check_prefixes(server, tmp_path / "bodies.jsonl", capsys)
    assert talk.DELETED in talk.shown(talk.blocks(bodies[0])[0])
    assert f"- {talk.DELETED}: deleted since it was recalled above" in talk.blocks(bodies[-1])[-1]
    kept = [entry for entry in entries(agent) if entry.get("customType") == CUSTOM_TYPE]
    assert kept[0]["details"]["why"]["mem_20260112_pushmain"] == "hard rule"
    assert kept[-1]["details"]["withdrawn"] == [talk.DELETED]
    assert all(entry["display"] is False for entry in kept)


def rpc(agent, *commands):
    """One process in RPC mode: what came after each command, until the next one could follow."""
    process = subprocess.Popen(
        [agent.program, *PI_OPTIONS, "--mode", "rpc"],
        env=agent.variables,
        cwd=agent.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    answers = []
    try:
        for command in commands:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            seen = []
            for line in process.stdout:
                seen.append(json.loads(line))
                kind = seen[-1]["type"]
                is_prompt = command["type"] == "prompt" and not command["message"].startswith("/")
                if kind == ("agent_end" if is_prompt else "response"):
                    break
            answers.append(seen)
        process.stdin.close()
        process.wait(30)
    finally:
        process.kill()
        process.wait()
    return answers


def prompt(text):
    return {"type": "prompt", "message": text}


def test_after_a_compaction_the_block_is_whole_again_and_the_command_says_what_is_there(agent, server):
    # What a compaction keeps is counted in tokens; a long prompt makes sure that it does not keep all.
    long = "Tell me about orchard. " + "It is a service. " * 6_000
    answers = rpc(
        agent,
        prompt(long),
        prompt(talk.PROMPTS[0]),
        {"type": "compact"},
        prompt(talk.PROMPTS[0]),
        prompt("/memory"),
    )
    assert answers[2][-1]["success"], answers[2][-1]
    bodies = server.main()
    first = [each for block in talk.blocks(bodies[0]) for each in talk.shown(block)]
    after = [each for block in talk.blocks(bodies[-1]) for each in talk.shown(block)]
    assert "mem_20260112_pushmain" in first
    assert "mem_20260112_pushmain" in after
    assert len(after) == len(set(after))
    told = [
        event
        for event in answers[-1]
        if event["type"] == "extension_ui_request" and event["method"] == "notify"
    ]
    assert "mem_20260112_pushmain: hard rule" in told[-1]["message"]
    status = [event for event in answers[1] if event.get("method") == "setStatus"]
    assert "records" in status[-1]["statusText"]


@pytest.mark.parametrize(
    "command", [["/nowhere/python"], ["sleep", "60"], ["sh", "-c", "echo broken; exit 2"]]
)
def test_a_turn_goes_on_whatever_becomes_of_the_hook(agent, server, command):
    extension = agent.home / ".pi" / "agent" / "extensions" / "pi-rank.ts"
    lines = extension.read_text("utf-8").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("const COMMAND = "))
    lines[at : at + 2] = [f"const COMMAND = {json.dumps(command)};", "const OPTIONS = [];"]
    extension.write_text("\n".join(lines), "utf-8")
    agent.run(*PI_OPTIONS, "-p", talk.PROMPTS[0])
    (body,) = server.main()
    assert talk.blocks(body) == []
