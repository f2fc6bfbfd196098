"""Plain tables, clean lines, JSON, and when colour is allowed."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.cli import output
from pi_rank.cli.output import columns, folded, heading, is_terminal, note, one_line, print_json, print_table


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
        ("mem\u3164\u115f \u2800 a\u034fb ⚠️", None, "mem a b ⚠️"),
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


@pytest.fixture
def screen(monkeypatch, capsys):
    """What stdout shows, a terminal of 40 columns."""
    monkeypatch.setattr(output, "is_terminal", lambda stream: stream is sys.stdout)
    monkeypatch.setattr(output.sys, "platform", "linux")
    monkeypatch.setenv("COLUMNS", "40")
    return lambda: capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("exactly ten", ["exactly", "ten"]),
        ("ten is all", ["ten is all"]),
        ("abcdefghijklm no", ["abcdefghij", "klm no"]),
        ("a abcdefghijklm", ["a", "abcdefghij", "klm"]),
        ("abcdefghij", ["abcdefghij"]),
        ("部署前检查 一", ["部署前检查", "一"]),
        ("部署前检查一二", ["部署前检查", "一二"]),
    ],
)
def test_a_text_is_folded(text, lines):
    assert folded(text, 10) == lines


@given(st.text("ab 部\u0301", max_size=60), st.integers(1, 12))
def test_folding_loses_no_word(text, width):
    lines = folded(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns(line) <= max(width, 2) for line in lines)


def test_a_drawn_table_folds_its_last_column(screen):
    print_table(
        ["id", "statement"], [["mem_1", "roll out to one canary instance first and watch"], ["m", "x"]]
    )
    assert screen() == (
        "\x1b[1mid     statement\x1b[0m\n"
        "mem_1  roll out to one canary instance\n"
        "       first and watch\n"
        "m      x\n"
    )


def test_a_column_too_narrow_to_fold_is_left_to_the_terminal(screen):
    print_table(["a" * 30, "b"], [["1", "twelve words"]])
    assert screen().endswith(f"1{' ' * 31}twelve words\n")


def test_a_drawn_heading_fills_its_line(screen):
    heading("A turn")
    assert screen() == f"\x1b[1mA turn\x1b[0m {'─' * 33}\n"


def test_drawn_table_shows_text_as_it_is(screen):
    print_table(["id", "statement"], [["mem_1", "[bold]not markup[/bold]"]])
    heading("[red]no markup[/red]")
    shown = screen()
    assert "[bold]not markup[/bold]" in shown
    assert "[red]no markup[/red]" in shown


def test_an_old_console_shows_no_escape_sequences(screen, monkeypatch):
    monkeypatch.setattr(output.sys, "platform", "win32")
    monkeypatch.delenv("WT_SESSION", raising=False)
    heading("A turn")
    assert "\x1b" not in screen()
