"""Turns in and answers out: formats, bad lines, interruption and resumption."""

from __future__ import annotations

import io
import json
import sys

import pytest

from pi_rank.batch_files import BadTurn, Turn, count_turns, open_answers, read_turns
from pi_rank.errors import ConfigError

LINES = (
    b'\xef\xbb\xbf{"latest_user_message": "one"}\r\n\n{broken\n'
    b'{"working_directory": "/x"}\n{"latest_user_message": "two"}'
)


@pytest.fixture
def turns(tmp_path):
    path = tmp_path / "turns.jsonl"
    path.write_bytes(LINES)
    return str(path)


def numbers_and_kinds(found):
    return [(turn.number, type(turn)) for turn in found]


def test_lines_are_turns_or_say_why_not(turns):
    found = list(read_turns(turns))
    assert numbers_and_kinds(found) == [(1, Turn), (3, BadTurn), (4, BadTurn), (5, Turn)]
    assert found[0].context.latest_user_message == "one"
    assert "not JSON" in found[1].reason
    assert "latest_user_message" in found[2].reason
    assert count_turns(turns) == 4
    assert numbers_and_kinds(read_turns(turns, after=4)) == [(5, Turn)]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert count_turns("-") is None
    assert [turn.number for turn in read_turns("-")] == [1, 3, 4, 5]


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"\.jsonl, \.ndjson or \.parquet"):
        next(read_turns(str(tmp_path / "turns.csv")))
    with pytest.raises(ConfigError), open_answers(str(tmp_path / "answers.csv"), resume=False):
        pass
    with pytest.raises(ConfigError, match="--resume needs an output file"), open_answers("-", resume=True):
        pass


def test_the_output_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("older\n", encoding="utf-8")
    with open_answers(str(path), resume=False) as answers:
        answers.write(1, {"mode": "none"})
        assert path.read_text(encoding="utf-8") == "older\n"
    assert path.read_text(encoding="utf-8") == '{"turn":1,"mode":"none"}\n'
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_interrupted_run_is_resumed_behind_its_last_whole_answer(tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(KeyboardInterrupt), open_answers(str(path), resume=False) as answers:
        answers.write(1, {"mode": "none"})
        answers.write(2, {"mode": "lexical"})
        raise KeyboardInterrupt
    assert not path.exists()
    with (tmp_path / "answers.jsonl.partial").open("ab") as partial:
        partial.write(b'{"turn":3,"mo')
    with open_answers(str(path), resume=True) as answers:
        assert answers.answered == 2
        answers.write(3, {"mode": "hybrid"})
    assert [json.loads(line)["turn"] for line in path.read_text(encoding="utf-8").splitlines()] == [1, 2, 3]


def test_parquet_both_ways(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pip install 'pi-rank[parquet]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.Table.from_pylist(
        [
            {"latest_user_message": "one", "profile_id": None},
            {"latest_user_message": "two", "profile_id": "p"},
        ]
    )
    parquet.write_table(table, tmp_path / "turns.parquet")
    source = str(tmp_path / "turns.parquet")
    assert count_turns(source) == 2
    assert [turn.context.profile_id for turn in read_turns(source)] == [None, "p"]
    with open_answers(str(tmp_path / "answers.parquet"), resume=False) as answers:
        answers.write(1, {"mode": "none", "markdown": "", "bytes": 0, "selected": [{"id": "a"}], "stats": {}})
    rows = parquet.read_table(tmp_path / "answers.parquet").to_pylist()
    assert (rows[0]["turn"], rows[0]["mode"], rows[0]["selected"]) == (1, "none", '[{"id":"a"}]')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.parquet", "turns.parquet"]
