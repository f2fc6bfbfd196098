"""Values of options, and what the prompt is read from."""

from __future__ import annotations

import argparse
import datetime as dt
import io
from pathlib import Path

import pytest

from pi_rank.cli.arguments import date, milliseconds, model_name, prompt_text, whole_number, working_directory


class Stdin:
    """A standard input of the given bytes."""

    def __init__(self, content: bytes, terminal: bool = False) -> None:
        self.buffer = io.BytesIO(content)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_date():
    assert date("2026-06-30") == dt.date(2026, 6, 30)


@pytest.mark.parametrize("text", ["", "today", "2026-02-30", "2026-06-30T10:00", "2026/06/30"])
def test_date_refuses(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a date like 2026-06-30"):
        date(text)


def test_whole_number():
    assert whole_number(0)("0") == 0
    assert whole_number(1)("14000") == 14000


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "1e3", "²", "١", "9" * 5_000])
def test_whole_number_refuses(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number of at least 1"):
        whole_number(1)(text)


def test_milliseconds():
    assert milliseconds("2.5") == 2.5


@pytest.mark.parametrize("text", ["", "0", "-3", "nan", "inf", "soon"])
def test_milliseconds_refuses(text):
    with pytest.raises(argparse.ArgumentTypeError):
        milliseconds(text)


def test_model_none_is_words_only():
    assert model_name(argparse.Namespace(model="none")) is None
    assert model_name(argparse.Namespace(model="default")) == "default"


def test_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert working_directory(argparse.Namespace(cwd=None)) == str(Path.cwd())
    assert working_directory(argparse.Namespace()) == str(Path.cwd())
    assert working_directory(argparse.Namespace(cwd="C:\\work")) == "C:\\work"


def test_prompt_is_the_argument():
    assert prompt_text("how do we deploy?\n") == "how do we deploy?\n"


def test_prompt_with_bytes_that_are_no_text():
    assert prompt_text("caf\udce9") == "caf\ufffd"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"one\ntwo\n", "one\ntwo"),
        (b"one\r\n", "one"),
        (b"", ""),
        ("\ufeff部署".encode(), "部署"),
        (b"caf\xe9", "caf\ufffd"),
    ],
)
def test_prompt_from_stdin(content, text, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stdin(content))
    assert prompt_text("-") == text


def test_prompt_from_a_terminal_says_that_it_waits(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Stdin(b"hello there\n", terminal=True))
    assert prompt_text("-") == "hello there"
    assert capsys.readouterr().err.startswith("pi-rank: reading the prompt from the terminal;")
