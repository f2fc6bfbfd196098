"""The entry point: finds the command asked for, runs it, and turns what happened into an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TextIO

from pi_rank.errors import PiRankError
from pi_rank.version import __version__

if TYPE_CHECKING:
    from pi_rank.daemon.engines import Engines

OK, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for an interrupted program
PIPE_CLOSED = 141  # 128 + SIGPIPE, likewise for one whose reader went away


class Command(NamedTuple):
    """Where in `pi_rank.cli.commands` its options are declared ("module:function"), and its line in `--help`.

    The function takes the command's own parser, adds its arguments and sets the default `run`, a function of
    the parsed arguments that returns an exit code. The module is imported only when its command is used.
    """

    home: str
    summary: str


# A new command is one line here.
COMMANDS = {
    "demo": Command("demo:configure", "three turns on sample memory: blocks, what was left out, why"),
    "context": Command("context:configure", "the context block for one prompt"),
    "hook": Command("agents.hook:configure", "memory for one prompt of a coding agent, in its hook"),
    "install": Command("agents.install:configure", "put memory into a coding agent's configuration"),
    "uninstall": Command("agents.install:configure_uninstall", "take it out again"),
    "installed": Command(
        "agents.install:configure_installed", "which agents have it, and the last failure of a hook"
    ),
    "daemon": Command("daemon:configure", "the warm process that answers hooks and searches in milliseconds"),
    "batch": Command("batch:configure", "many turns from a file, answered on all cores"),
    "search": Command("search:configure", "ranked records for a query"),
    "prefix-check": Command("prefix_check:configure", "check that requests keep the provider's prompt cache"),
    "sync": Command("memory:configure_sync", "read the memory files into the store"),
    "status": Command("memory:configure_status", "what the store holds"),
    "rebuild": Command("memory:configure_rebuild", "make the store anew from the memory files"),
    "models": Command("models:configure", "embedding models: list, check, change, distil"),
    "serve": Command("serve:configure", "serve memory over HTTP"),
    "forget": Command("forget:configure", "take back a note that a server was told to remember"),
    "participant": Command("participant:configure", "ask agents, with what memory holds for each turn"),
    "qmd": Command("qmd:configure", "search Markdown and memory as qmd does"),
    "mcp": Command("qmd:configure_mcp", "the MCP server, over stdio or HTTP"),
    "trust": Command("trust:configure", "use a folder's settings and memory from now on; list those in use"),
    "untrust": Command("trust:configure_untrust", "take trust in a folder back"),
    "import": Command("transfer.imports:configure", "a new memory root from memory in other forms"),
    "export": Command("transfer.exports:configure", "memory as JSON lines, Markdown or MCP memory"),
    "doctor": Command("doctor:configure", "check the installation, the model, the memory and the store"),
}

EPILOG = """\
examples:
  pi-rank demo
  pi-rank context "How do we deploy?" --cwd ~/work/orchard-api
  git log -1 --format=%B | pi-rank context - --explain
  pi-rank search "database migrations" -k 5 --json
  pi-rank doctor

The memory root is --root, else PI_MEMORY_ROOT, else `localPath` in .pi/settings.json where it is trusted
(pi-rank trust), else ~/.pi/agent/pi-memory.
Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
"""


class Parser(argparse.ArgumentParser):
    """argparse with our manners: no abbreviated options, errors in one line, text kept as written."""

    def __init__(self, **kwargs: object) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(**kwargs)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, then leave with the code for wrong usage."""
        self.exit(USAGE, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


def main(
    argv: Sequence[str] | None = None, began: float | None = None, engines: Engines | None = None
) -> int:
    """Run one command and return its exit code.

    :param argv: without the program's name; None means `sys.argv`.
    :param began: when this process began, on the clock of `time.monotonic`, where that is known.
    :param engines: the engines that are open already, in a process that answers for others.
    """
    _speak_utf8(sys.stdout, sys.stderr)
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["hook"]:
        return _hook(words, began, engines)
    return _command(words, engines)


def _hook(words: list[str], began: float | None, engines: Engines | None) -> int:
    """A hook's command: nothing that goes wrong reaches the agent, least of all as an exit code."""
    if {"-h", "--help"} & set(words):
        return _command(words, engines)
    from pi_rank.agents.failures import keep_failure

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = build_parser(words).parse_args(words)
            arguments.began, arguments.engines = began, engines
            arguments.run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
    except SystemExit:
        keep_failure(said.getvalue())
    except BaseException as error:
        keep_failure(f"pi-rank {' '.join(words)}: {type(error).__name__}: {_one_line(error)}")
    if sys.stderr.isatty():  # tried by a person
        print(said.getvalue(), end="", file=sys.stderr)
    return OK


def _command(words: list[str], engines: Engines | None) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            return _run(words, engines)
    except KeyboardInterrupt:
        print("pi-rank: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return PIPE_CLOSED
    except (PiRankError, OSError) as error:
        print(f"pi-rank: {_one_line(error)}", file=sys.stderr)
        return FAILED


def _run(argv: list[str], engines: Engines | None) -> int:
    try:
        arguments = build_parser(argv).parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    arguments.engines = engines
    code: int = arguments.run(arguments)
    sys.stdout.flush()
    return code


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for this command line: every command by name, only the one asked for with its options.

    Where the line begins with a command, nobody asks for the others.
    """
    parser = Parser(
        prog="pi-rank",
        description="Agent memory for one turn: what applies, ranked and fitted into one block of text.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"pi-rank {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands", parser_class=Parser)
    asked = next((word for word in argv if not word.startswith("-")), None)
    known = {asked: COMMANDS[asked]} if asked in COMMANDS and argv[0] == asked else COMMANDS
    for name, command in known.items():
        child = commands.add_parser(name, help=command.summary, description=_sentence(command.summary))
        if name == asked:
            _configure(command)(child)
    return parser


def _configure(command: Command) -> Callable[[argparse.ArgumentParser], None]:
    module, _, function = command.home.partition(":")
    configure: Callable[[argparse.ArgumentParser], None] = getattr(
        importlib.import_module(f"pi_rank.cli.commands.{module}"), function
    )
    return configure


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"pi-rank: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _speak_utf8(*streams: TextIO) -> None:
    # The block holds ⚠️ and whatever script the memory is written in; a Windows code page cannot carry it. A
    # lone surrogate from the command line must not end the program either.
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _drop_stdout() -> None:
    # The interpreter flushes stdout once more on its way out and would complain about the closed pipe.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (
        OSError,
        ValueError,
    ):  # stdout is not a file of the operating system: nothing will be flushed to it
        return
