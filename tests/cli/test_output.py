"""Plain tables, clean lines, JSON, and when colour is allowed."""

from __future__ import annotations

import io
import json

import pytest

from pi_rank.cli import output
from pi_rank.cli.output import columns, heading, is_terminal, note, one_line, print_json, print_table


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("plain", None, "plain"),
        ("two\nlines\r\n and\ttabs", None, "two lines and tabs"),
        ("\x1b[31mred\x1b[0m\x07", None, "[31mred [0m"),
        ("left \u202eright\u202c", None, "left right"),
        ("lone \ud83d half", None, "lone half"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("部署前检查", 10, "部署前检查"),
        ("部署前检查一", 10, "部署前检…"),
        ("", 3, ""),
    ],
)
def test_one_line(text, width, line):
    assert one_line(text, width) == line


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("部署", 4), ("e\u0301", 1), ("", 0)])
def test_columns(text, width):
    assert columns(text) == width


def test_plain_table_is_aligned_by_columns_of_the_terminal(capsys):
    print_table(["id", "text"], [["部署", "one"], ["a", "two\nlines"]])
    assert capsys.readouterr().out == "id    text\n部署  one\na     two lines\n"


def test_empty_table_is_its_titles(capsys):
    print_table(["id", "text"], [])
    assert capsys.readouterr().out == "id  text\n"


def test_json_keeps_scripts_and_escapes_lone_surrogates(capsys):
    print_json({"text": "部署 \ud83d"})
    out = capsys.readouterr().out
    assert out == '{\n  "text": "部署 \\ud83d"\n}\n'
    assert json.loads(out) == {"text": "部署 \ud83d"}


def test_notes_go_to_stderr(capsys):
    note("two\nlines")
    captured = capsys.readouterr()
    assert captured.err == "pi-rank: two lines\n"
    assert captured.out == ""


def test_heading_is_plain_off_a_terminal(capsys):
    heading("A turn")
    assert capsys.readouterr().out == "==== A turn ====\n"


def test_terminal_unless_plain_is_asked_for(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert is_terminal(Terminal())
    assert not is_terminal(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_terminal(Terminal())
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Terminal())


def test_drawn_table_shows_text_as_it_is(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(output.sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_table(["id", "statement"], [["mem_1", "[bold]not markup[/bold]"]])
    heading("[red]no markup[/red]")
    shown = screen.getvalue()
    assert "[bold]not markup[/bold]" in shown
    assert "[red]no markup[/red]" in shown
