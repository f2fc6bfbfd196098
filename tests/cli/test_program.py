"""The frame around the commands: help, versions, exit codes, errors in one line."""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings

import pytest

from pi_rank import __version__
from pi_rank.cli import program
from pi_rank.cli.program import COMMANDS, Command, build_parser, main
from pi_rank.errors import StoreError


def raise_store_error(_):
    raise StoreError("the store is damaged;\n  run `pi-rank rebuild`")


def raise_interrupt(_):
    raise KeyboardInterrupt


def raise_broken_pipe(_):
    raise BrokenPipeError


def raise_os_error(_):
    raise PermissionError(13, "Permission denied", "store.sqlite")


def warn(_):
    warnings.warn("the model is missing;\nranking by words only", stacklevel=1)
    return 0


def probe(run):
    """A command that does `run`, in the place of a real one."""

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(run=run)

    return configure


@pytest.fixture
def run_probe(monkeypatch):
    def run(function):
        monkeypatch.setattr(program, "_configure", lambda _: probe(function))
        return main(["doctor"])

    return run


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pi-rank {__version__}\n"


def test_help_names_every_command_and_gives_examples(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"\n    {name}" in out
        assert " ".join(command.summary.split()) in " ".join(out.split())
    assert "examples:\n  pi-rank demo\n" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_own_help(name, capsys):
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: pi-rank {name} ")
    assert "--json" in out or name == "hook"  # which prints JSON whatever is asked


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "pi-rank: the following arguments are required: COMMAND (see `pi-rank --help`)\n"),
        (
            ["context"],
            "pi-rank context: the following arguments are required: PROMPT (see `pi-rank context --help`)\n",
        ),
        (
            ["context", "x", "--today", "30.6.2026"],
            "pi-rank context: argument --today: '30.6.2026' is not a date like 2026-06-30"
            " (see `pi-rank context --help`)\n",
        ),
        (
            ["context", "x", "--max-bytes", "-1"],
            "pi-rank context: argument --max-bytes: '-1' is not a whole number of at least 0 with at most 18"
            " digits (see `pi-rank context --help`)\n",
        ),
        (
            ["context", "x", "--deadline-ms", "nan"],
            "pi-rank context: argument --deadline-ms: 'nan' is not a number of milliseconds above zero"
            " (see `pi-rank context --help`)\n",
        ),
        (
            ["search", "x", "-k", "0"],
            "pi-rank search: argument -k: '0' is not a whole number of at least 1 with at most 18 digits"
            " (see `pi-rank search --help`)\n",
        ),
        (
            ["context", "x", "--max-b", "5"],
            "pi-rank: unrecognized arguments: --max-b 5 (see `pi-rank --help`)\n",
        ),
    ],
)
def test_wrong_usage_is_code_2_and_one_line(argv, message, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.err == message
    assert captured.out == ""


def test_unknown_command_is_wrong_usage(capsys):
    assert main(["contxt"]) == 2
    err = capsys.readouterr().err
    assert "contxt" in err
    assert "demo" in err
    assert err.count("\n") == 1


def test_our_errors_are_code_1_and_one_line(run_probe, capsys):
    assert run_probe(raise_store_error) == 1
    assert capsys.readouterr().err == "pi-rank: the store is damaged; run `pi-rank rebuild`\n"


def test_errors_of_the_system_are_code_1_and_one_line(run_probe, capsys):
    assert run_probe(raise_os_error) == 1
    assert capsys.readouterr().err == "pi-rank: [Errno 13] Permission denied: 'store.sqlite'\n"


def test_interrupt_is_code_130(run_probe, capsys):
    assert run_probe(raise_interrupt) == 130
    assert capsys.readouterr().err == "pi-rank: interrupted\n"


def test_broken_pipe_is_quiet(run_probe, capsys, monkeypatch):
    monkeypatch.setattr(program, "_drop_stdout", lambda: None)
    assert run_probe(raise_broken_pipe) == 141
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


def test_warnings_are_one_line_on_stderr(run_probe, capsys):
    assert run_probe(warn) == 0
    assert capsys.readouterr().err == "pi-rank: warning: the model is missing; ranking by words only\n"


def test_a_reader_that_goes_away_leaves_no_trace():
    script = (
        "import sys; from pi_rank.cli import program;"
        "program._configure = lambda _: lambda p: p.set_defaults(run=lambda _: print('block') or 0);"
        "sys.exit(program.main(['doctor']))"
    )
    # Unbuffered, so that the first line meets the closed pipe already.
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 141
    assert err == b""


def test_only_the_asked_command_is_imported():
    script = (
        "import sys; from pi_rank.cli.program import build_parser; build_parser(['search', 'x']);"
        "commands = {'pi_rank.cli.commands.search', 'pi_rank.cli.commands.demo'};"
        "watched = {'numpy', 'tqdm', 'onnxruntime'} | commands;"
        "print(sorted(watched & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out == "['pi_rank.cli.commands.search']\n"


def test_every_command_declares_what_it_runs():
    needs = {
        "batch": ["x"],
        "context": ["x"],
        "daemon": ["status"],
        "forget": ["x"],
        "hook": ["pi"],
        "import": ["hermes", "--to", "x"],
        "install": ["pi"],
        "uninstall": ["pi"],
        "models": ["list"],
        "participant": ["ask", "x", "--participant", "a=b"],
        "prefix-check": ["x"],
        "search": ["x"],
    }
    for name in COMMANDS:
        arguments = build_parser([name]).parse_args([name, *needs.get(name, [])])
        assert callable(arguments.run)
        assert getattr(arguments, "json", False) is False


def test_commands_are_described_in_one_line():
    for command in COMMANDS.values():
        assert isinstance(command, Command)
        assert len(command.summary) < 80
        assert not command.summary.endswith(".")
