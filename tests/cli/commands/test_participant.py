"""`pi-rank participant`: its options, exit codes and outputs, with real commands."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from pi_rank.cli import main

pytest.importorskip("h11", reason="pi-rank[serve] is not installed")

QUESTION = "What is up?"


def agent(name, program):
    return ["--participant", f"{name}={shlex.join([sys.executable, '-c', program])}"]


STATUS = (
    "import re, sys; print(''.join(re.findall('^STATUS: [A-Z]+', sys.stdin.read(), re.M)) or 'no memory')"
)
HELLO = "print('hello')"
NOTHING = "print()"
FAIL = "import sys; sys.exit(3)"
NOBODY = "http://127.0.0.1:1"


def run(capsys, *arguments):
    code = main(["participant", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_ask(capsys):
    assert run(capsys, "ask", QUESTION, *agent("a", HELLO)) == (0, "hello\n", "")


def test_exchange(capsys):
    code, out, _ = run(capsys, "exchange", QUESTION, *agent("a", HELLO), *agent("b", "print('hi')"))
    assert (code, out) == (0, "==== a ====\nhello\n==== b ====\nhi\n")


def test_convene_json_and_transcript(capsys, tmp_path):
    file = tmp_path / "transcript.jsonl"
    moderator = f"m={shlex.join([sys.executable, '-c', HELLO])}"
    seats = [*agent("a", HELLO), *agent("b", HELLO)]
    options = ["--moderator", moderator, "--json", "--transcript", str(file), "--topic", "t-1"]
    code, out, _ = run(capsys, "convene", QUESTION, *seats, *options)
    held = json.loads(out)
    assert code == 0
    assert held["topic_id"] == "t-1"
    assert [[turn["participant"] for turn in turns] for turns in held["rounds"]] == [
        ["a", "b"],
        ["a", "b"],
        ["m"],
    ]
    assert len(file.read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.parametrize("program", [FAIL, NOTHING])
def test_a_participant_that_does_not_answer(capsys, program):
    code, out, err = run(capsys, "ask", QUESTION, *agent("a", program))
    assert (code, out) == (1, "")
    assert err.startswith("pi-rank: a: ")


def test_a_participant_that_is_not_there(capsys):
    assert run(capsys, "ask", QUESTION, "--participant", "a=/nowhere/agent")[0] == 1


def test_memory_that_fails_does_not_change_the_exit_code(capsys):
    code, out, _ = run(capsys, "ask", QUESTION, *agent("a", STATUS), "--memory-url", NOBODY)
    assert (code, out) == (0, "STATUS: UNAVAILABLE\n")
    assert run(capsys, "ask", QUESTION, *agent("a", FAIL), "--memory-url", NOBODY)[0] == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--memory-timeout", "2"],
        ["--memory-top-k", "3"],
        ["--memory-max-chars", "4096"],
        ["--memory-token-file", "x"],
        ["--memory-url", "http://localhost:8001"],
        ["--memory-url", NOBODY, "--memory-timeout", "31"],
        ["--memory-url", NOBODY, "--memory-top-k", "21"],
        ["--memory-url", NOBODY, "--memory-max-chars", "511"],
        ["--memory-ur", NOBODY],
        ["--memory-timeout", "nan"],
        ["--timeout", "0"],
        ["--transcript", "/nowhere/x"],
        ["--participant", "b=true"],
        ["--participant", "b"],
        ["--participant", "=true"],
        ["--participant", "b='"],
    ],
)
def test_refused(capsys, options):
    code, out, err = run(capsys, "ask", QUESTION, *agent("a", HELLO), *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_two_of_one_name_are_refused(capsys):
    assert run(capsys, "exchange", QUESTION, *agent("a", HELLO), *agent("a", HELLO))[0] == 2


def test_answers_cannot_steer_the_terminal(capsys):
    assert run(capsys, "ask", QUESTION, *agent("a", "print('a\\x1b[2Jb')"))[1] == "a\ufffd[2Jb\n"
