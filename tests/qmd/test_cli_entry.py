"""`pi-rank qmd …` and `pi-rank mcp` hand everything over as it was typed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pi_rank import __version__
from pi_rank.cli import main


@pytest.mark.parametrize(
    ("argv", "code", "out"),
    [
        (["qmd", "--version"], 0, f"qmd {__version__} (pi-rank)\n"),
        (["qmd", "search", "--files", "--", "--no-such"], 0, ""),
        (["qmd", "search", "--json", "-zebra"], 0, "[]\n"),
        (["qmd", "search", "--json", "--help me"], 0, "[]\n"),
        (["qmd", "search", "--json", "--min-score", "-1", "x"], 0, "[]\n"),
    ],
)
def test_arguments_arrive_as_typed(world, capsys, argv, code, out):
    assert main(argv) == code
    assert capsys.readouterr().out == out


def test_help_and_errors(world, capsys):
    assert main(["qmd", "--help"]) == 0
    usage, _, rest = capsys.readouterr().out.partition("\n\n")
    assert usage.startswith("usage: pi-rank qmd ")
    assert rest.startswith("qmd: search Markdown and agent memory")
    assert main(["qmd", "search", "--help"]) == 0
    assert main(["qmd"]) == 1
    assert main(["qmd", "frobnicate"]) == 1
    assert "Unknown command: frobnicate\nRun 'qmd --help' for usage.\n" in capsys.readouterr().err
    assert main(["mcp", "stop"]) == 0
    assert capsys.readouterr().out.endswith("Not running.\n")


def test_without_the_sdk_the_server_says_what_to_install(world, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    for name in ("pi_rank.qmd.mcp.server",):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert main(["mcp"]) == 1
    assert "pip install 'pi-rank[mcp]'" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(world):
    world.ok("collection", "add", str(world.documents()), "--name", "c")
    boot = f"import sys; sys.path[:] = {sys.path!r}; from pi_rank.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", boot, "qmd", "search", "--json", "--all", "--full", "deploy"],
        env=world.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert "Traceback" not in process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (0, 141)
