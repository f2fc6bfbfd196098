"""`pi-rank batch`, from file to file."""

from __future__ import annotations

import json

import pytest

from pi_rank.cli.program import main
from tests.support.memory import write_root


@pytest.fixture
def run(tmp_path):
    records = [
        {"id": "mem_bun", "statement": "Run bun tests"},
        {"id": "mem_x", "statement": "Deploy on Tuesday"},
    ]
    root = write_root(tmp_path / "root", records)
    store = ["--root", str(root), "--store", str(tmp_path / "store.sqlite3"), "--model", "none"]
    return lambda *arguments: main(["batch", *map(str, arguments), *store])


def answers(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def turns(path, *prompts):
    lines = [json.dumps({"latest_user_message": prompt}) for prompt in prompts]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_answers_are_in_order_and_numbered(tmp_path, run, capsys):
    prompts = ["run the bun tests", "when do we deploy?"] * 50
    assert run(turns(tmp_path / "turns.jsonl", *prompts), "-o", tmp_path / "out.jsonl", "--threads", 2) == 0
    found = answers(tmp_path / "out.jsonl")
    assert [answer["turn"] for answer in found] == list(range(1, 101))
    assert [answer["selected"][0]["id"] for answer in found] == ["mem_bun", "mem_x"] * 50
    assert found[0]["traces"][0] == {
        "processor": "StatusFilterProcessor",
        "input_count": 2,
        "output_count": 2,
    }
    assert capsys.readouterr().out == ""


def test_a_bad_line_is_reported_and_skipped(tmp_path, run, capsys):
    path = turns(tmp_path / "turns.jsonl", "run the bun tests")
    path.write_text(path.read_text(encoding="utf-8") + '\n{"nothing": 1}\n', encoding="utf-8")
    assert run(path) == 0
    output = capsys.readouterr()
    assert [json.loads(line)["turn"] for line in output.out.splitlines()] == [1]
    assert f"skipped {path}:2: " in output.err


def test_resuming_answers_what_is_left(tmp_path, run):
    path = turns(tmp_path / "turns.jsonl", *["run the bun tests"] * 5)
    (tmp_path / "out.jsonl.partial").write_text('{"turn":1}\n{"turn":2}\n{"turn', encoding="utf-8")
    assert run(path, "-o", tmp_path / "out.jsonl", "--resume") == 0
    assert [answer["turn"] for answer in answers(tmp_path / "out.jsonl")] == [1, 2, 3, 4, 5]


def test_a_missing_file_fails_with_one_line(tmp_path, run, capsys):
    assert run(tmp_path / "nowhere.jsonl", "-o", tmp_path / "out.jsonl") == 1
    assert "nowhere.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
