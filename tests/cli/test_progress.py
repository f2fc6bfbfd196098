"""The progress bar: there for a person, absent for a program."""

from __future__ import annotations

import io
import time

from pi_rank.cli.progress import embedding_progress


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_bar_off_a_terminal(capsys):
    with embedding_progress() as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


def test_bar_on_a_terminal(monkeypatch, capsys):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with embedding_progress() as progress:
        time.sleep(0.2)  # it is drawn ten times a second at most
        progress(3, 12)
    assert "embedding" in screen.getvalue()
    assert "3/12" in screen.getvalue()
    assert capsys.readouterr().out == ""
