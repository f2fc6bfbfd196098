"""Memory in other forms at the doors: the hook of an agent, the server, `--explain`, one call from Python."""

from __future__ import annotations

import io
import json
import sys

import pytest

from pi_rank import build_retrieval_context
from pi_rank.cli.program import main
from pi_rank.sources.registry import parse_spec
from tests.sources.roots import configured, write

PROMPT = "How do migrations ship?"
SAID = "Migrations ship one release early."


@pytest.fixture
def orchard(home):
    folder = home / "work/orchard"
    write(folder / "CLAUDE.md", f"- {SAID}\n")
    assert main(["trust", str(folder)]) == 0
    return folder


@pytest.fixture
def root(home, orchard):
    with configured(home, {"source": "instructions", "path": str(orchard)}) as engine:
        return engine.root


@pytest.mark.parametrize(("agent", "told"), [("claude-code", False), ("codex", True), ("gemini-cli", True)])
def test_a_hook_does_not_tell_an_agent_what_it_reads_itself(root, orchard, agent, told, monkeypatch, capfd):
    name = "BeforeAgent" if agent == "gemini-cli" else "UserPromptSubmit"
    event = {"hook_event_name": name, "prompt": PROMPT, "cwd": str(orchard), "session_id": "1"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    assert main(["hook", agent, "--model", "none", "--deadline-ms", "20000"]) == 0
    assert (SAID in capfd.readouterr().out) is told


def test_explain_says_where_a_record_stands(root, orchard, capsys):
    assert main(["context", PROMPT, "--cwd", str(orchard), "--model", "none", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "~/work/orchard/CLAUDE.md:1" in out
    assert main(["context", PROMPT, "--cwd", str(orchard), "--model", "none", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["selected"]
    assert hit["origin"] == "~/work/orchard/CLAUDE.md:1"


def test_doctor_and_rebuild_know_sources(root, orchard, capsys):
    assert main(["sync", "--model", "none"]) == 0
    assert main(["doctor", "--model", "none", "--json"]) == 0
    checks = {
        check["name"]: check for check in json.loads(capsys.readouterr().out.partition("\n")[2])["checks"]
    }
    assert checks["memory files"]["detail"].startswith("1 records")
    assert main(["rebuild", "--model", "none"]) == 0
    assert "1 added" in capsys.readouterr().out
    assert main(["rebuild", "--model", "none", "--source", f"claude-md={orchard}"]) == 0
    assert "1 added" in capsys.readouterr().out


def test_one_call_from_python(home, orchard):
    specs = [parse_spec(f"claude-md={orchard}", home)]
    result = build_retrieval_context(
        home / "none", PROMPT, working_directory=orchard, model=None, sources=specs
    )
    assert SAID in result.markdown


def test_batch_takes_a_reader(home, root, orchard, capsys):
    turn = {"latest_user_message": PROMPT, "working_directory": str(orchard)}
    turns = [turn, turn | {"reader": "claude-code"}]
    write(home / "turns.jsonl", "".join(f"{json.dumps(turn)}\n" for turn in turns))
    assert main(["batch", str(home / "turns.jsonl"), "--model", "none"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [SAID in answer["markdown"] for answer in (first, second)] == [True, False]
