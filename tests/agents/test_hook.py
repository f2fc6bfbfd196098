"""`pi-rank hook`: an event in, the agent's own form out, and never anything else."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pi_rank
from pi_rank.agents.failures import failures_file
from pi_rank.agents.hosts import HOSTS
from pi_rank.cli.program import main
from tests.support.agents import homes
from tests.support.agents.conversation import DELETED, MARK, delete, shown

SAMPLE = Path(pi_rank.__file__).parent / "sample"
PROMPT = "Can I deploy orchard to production this Friday, and what do I run first?"
PLACE = "/home/mina/work/orchard-api"
TIME = ["--deadline-ms", "60000", "--today", "2026-06-30"]
EVENTS = {
    "pi": {"hook_event_name": "before_agent_start", "blocks": []},
    "claude-code": {"hook_event_name": "UserPromptSubmit", "session_id": "1e8", "permission_mode": "default"},
    "codex": {"hook_event_name": "UserPromptSubmit", "turn_id": "01a", "model": "m"},
    "opencode": {"hook_event_name": "chat.message", "blocks": []},
    "gemini-cli": {"hook_event_name": "BeforeAgent", "timestamp": "2026-12-01T01:00:16.120Z"},
}


@pytest.fixture
def memory(tmp_path, monkeypatch):
    root = homes.memory_copy(tmp_path, SAMPLE)
    monkeypatch.setenv("PI_MEMORY_ROOT", str(root))
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    return root


@pytest.fixture
def hook(memory, monkeypatch, capsysbinary):
    """Runs the command with an event; what it printed. The exit code is checked here: it is always 0."""

    def run(agent, event, *options, raw=None):
        data = json.dumps(event).encode() if raw is None else raw
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(["hook", agent, *TIME, *options]) == 0
        out, err = capsysbinary.readouterr()
        assert err == b""
        return out

    return run


def event(agent, prompt=PROMPT, **more):
    return {**EVENTS[agent], "prompt": prompt, "cwd": PLACE, **more}


def text_in(agent, out):
    answer = json.loads(out)
    if agent in ("pi", "opencode"):
        return answer["content" if agent == "pi" else "text"]
    inner = answer["hookSpecificOutput"]
    assert inner["hookEventName"] == EVENTS[agent]["hook_event_name"]
    assert answer.keys() == {"hookSpecificOutput"}
    return inner["additionalContext"]


@pytest.mark.parametrize("agent", HOSTS)
def test_each_agent_gets_its_block_in_its_form_and_size(hook, agent):
    out = hook(agent, event(agent))
    text = text_in(agent, out)
    assert text.startswith(f"# Persistent Intelligence Context\n{MARK} Recalled ")
    assert {"mem_20260112_pushmain", DELETED} <= set(shown(text))
    assert len(text.encode()) <= HOSTS[agent].max_bytes
    assert out.count(b"\n") == 1


@pytest.mark.parametrize("agent", HOSTS)
def test_an_event_that_asks_for_nothing_prints_nothing(hook, agent):
    assert hook(agent, event(agent, "ok")) == b""
    assert hook(agent, event(agent, "  ")) == b""
    assert hook(agent, {**event(agent), "hook_event_name": "SomethingNewer"}) == b""
    assert hook(agent, {**event(agent), "hook_event_name": next(iter(HOSTS[agent].begin))}) == b""
    assert not failures_file().exists()


BROKEN = {
    "empty": b"",
    "no JSON": b"deploy?",
    "half of it": b'{"hook_event_name": "UserPromptSubmit", "pro',
    "a list": b"[]",
    "no name": b'{"prompt": "How do we deploy orchard?"}',
    "bytes": b"\xff\xfe\x00{}",
    "nested": b'{"hook_event_name": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_event_prints_nothing_and_is_told_elsewhere(hook, kind, capsysbinary):
    assert hook("claude-code", None, raw=BROKEN[kind]) == b""
    assert "ContextError" in failures_file().read_text()
    assert main(["installed"]) == 0
    assert b"ContextError" in capsysbinary.readouterr().err


def test_fields_of_another_type_are_as_if_they_were_not_there(hook):
    odd = {**event("claude-code"), "cwd": 7, "transcript_path": ["x"], "blocks": {"a": 1}, "unknown": None}
    assert MARK.encode() in hook("claude-code", odd)
    assert hook("claude-code", {**odd, "prompt": {"text": "How do we deploy?"}}) == b""


def test_a_prompt_of_five_megabytes_is_asked_by_its_ends(hook):
    log = "x: 1\n" * 1_000_000
    assert DELETED in shown(text_in("pi", hook("pi", event("pi", f"{PROMPT}\n{log}"))))


def test_a_prompt_may_begin_with_a_dash_and_opencode_quotes_it(hook):
    plain = text_in("opencode", hook("opencode", event("opencode", "--dry-run of a deploy: how?")))
    assert text_in("opencode", hook("opencode", event("opencode", '"--dry-run of a deploy: how?"'))) == plain


@pytest.mark.parametrize(
    "words", [[], ["nobody"], ["pi", "--what"], ["pi", "--deadline-ms", "0"], ["pi", "--root", "/nowhere"]]
)
def test_a_wrong_command_exits_0_too(memory, monkeypatch, capsys, words):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event("pi")).encode())))
    assert main(["hook", *words]) == 0
    assert capsys.readouterr() == ("", "")
    assert failures_file().read_text().count("\n") == 1


def test_only_what_the_conversation_lacks_comes_and_what_is_gone_is_withdrawn(hook, memory):
    first = text_in("pi", hook("pi", event("pi")))
    assert hook("pi", event("pi", blocks=[first])) == b""
    delete(memory)
    answer = json.loads(hook("pi", event("pi", blocks=[first])))
    assert answer["details"]["withdrawn"] == [DELETED]
    assert f"- {DELETED}: deleted since it was recalled above; do not rely on it" in answer["content"]
    assert not set(shown(answer["content"])) & set(shown(first))
    assert hook("pi", event("pi", blocks=[first, answer["content"]])) == b""


def test_a_memory_that_lost_everything_says_so(hook, memory):
    first = text_in("pi", hook("pi", event("pi")))
    for file in memory.rglob("*.*"):
        file.unlink()
    text = text_in("pi", hook("pi", event("pi", blocks=[first])))
    withdrawn = [line for line in text.splitlines() if "do not rely on it" in line]
    assert len(withdrawn) == len(shown(first))


@pytest.mark.parametrize("size", [1_500, 3_000, 9_500])
def test_a_block_never_grows_past_its_limit(hook, memory, size):
    """Not even by what it withdraws: 200 records of long names are gone."""
    lines = "\n".join(f"- mem_{number:060d} [L2, conf 0.90] It was so." for number in range(200))
    known = f"# Persistent Intelligence Context\n{MARK} x\n\n## Selected Memory\n{lines}"
    text = text_in("pi", hook("pi", event("pi", blocks=[known]), "--max-bytes", str(size)))
    assert len(text.encode()) <= size
    assert "do not rely on it" in text


def test_secrets_are_masked(hook, memory):
    record = {
        "id": "mem_key", "layer": "L2", "scope": {"type": "global"}, "confidence": 0.95, "status": "active",
        "statement": "The deploy of orchard needs ghp_16C7e42F292c6912E7710c838347Ae178B4a first.",
        "rule_type": "convention", "created_at": "2026-06-01T00:00:00Z", "updated_at": "2026-06-01T00:00:00Z",
    }  # fmt: skip
    with (memory / "memory" / "L2.playbooks.jsonl").open("a") as stream:
        stream.write(json.dumps(record) + "\n")
    text = text_in("pi", hook("pi", event("pi")))
    assert "mem_key" in text
    assert "ghp_16C7" not in text


def run(*words, event=None, **more):
    launch = Path(pi_rank.__file__).parent / "launch.py"
    command = [sys.executable, "-I", "-S", str(launch), *words]
    return subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, timeout=60, **more)


def test_what_is_late_is_left_out_and_told(memory):
    done = run("hook", "claude-code", "--deadline-ms", "1", event=event("claude-code"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "not ready within 1 ms" in failures_file().read_text()


def test_the_entry_point_finds_its_packages_without_site(memory):
    assert run("--version").stdout.decode().split()[0] == "pi-rank"
    done = run("hook", "pi", "--deadline-ms", "60000", event=event("pi"))
    assert MARK.encode() in done.stdout
    assert (done.returncode, done.stderr) == (0, b"")
