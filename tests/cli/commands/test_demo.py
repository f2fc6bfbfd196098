"""The demo: real sample memory, the shipped model, and nothing left behind."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from pi_rank.cli.commands.demo import SAMPLE
from pi_rank.cli.program import main


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_demo_with_the_shipped_model(capsys, temporary):
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0] == f"90 records read from {SAMPLE}, 76 texts embedded."
    turns = json.loads((SAMPLE / "turns.json").read_text(encoding="utf-8"))
    assert [line for line in lines if line.startswith("====")] == [
        f"==== {turn['title']} ====" for turn in turns
    ]
    assert lines.count("# Persistent Intelligence Context") == 3
    assert sum(line.startswith("hybrid: 8 hard rules, ") for line in lines) == 3
    assert sum(line.startswith("The same turn again, best of 5: ") for line in lines) == 3
    assert list(temporary.iterdir()) == []


def test_demo_by_words_only_as_json(capsys, temporary):
    assert main(["demo", "--model", "none", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [answer["result"]["mode"] for answer in answers] == ["lexical"] * 3
    assert [answer["turn"]["working_directory"] for answer in answers] == [
        "/home/mina/work/orchard-api",
        "/home/mina/work/lumen-app",
        "/home/mina/work/orchard-api",
    ]
    assert list(temporary.iterdir()) == []


def test_demo_does_not_write_to_the_sample(capsys, temporary):
    before = {path: path.stat().st_mtime_ns for path in Path(SAMPLE).rglob("*")}
    assert main(["demo", "--model", "none"]) == 0
    assert {path: path.stat().st_mtime_ns for path in Path(SAMPLE).rglob("*")} == before
