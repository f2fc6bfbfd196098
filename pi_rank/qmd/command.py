"""The qmd command: finds what was asked for, runs it, and makes one message of what went wrong."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from pi_rank.errors import PiRankError
from pi_rank.qmd.arguments import parse
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.launcher import PIPE_CLOSED
from pi_rank.qmd.paths import places

OK, FAILED, INTERRUPTED = 0, 1, 130

# A command's module is imported only when it is asked for: the searches must not pay for the rest.
COMMANDS = {
    "search": "commands.search:run",
    "vsearch": "commands.search:run",
    "query": "commands.search:run",
    "get": "commands.get:run_get",
    "multi-get": "commands.multi_get:run",
    "ls": "commands.get:run_ls",
    "status": "commands.status:run_status",
    "collection": "commands.collection:run_collection",
    "context": "commands.context:run",
    "update": "commands.update:run_update",
    "embed": "commands.update:run_embed",
    "cleanup": "commands.update:run_cleanup",
    "daemon": "commands.daemon:run_daemon",
    "install-shim": "commands.shim:run_install",
    "mcp": "commands.mcp:run_mcp",
    "serve-daemon": "daemon:run_serve",
}

HELP = """\
qmd: search Markdown and agent memory (pi-rank)

Usage:
  qmd collection add PATH [--name NAME] [--mask GLOB]    index a folder, or a PI memory root
  qmd collection list|remove|rename|show|include|exclude
  qmd context add [PATH] TEXT | list | rm PATH           say what a folder is about
  qmd update [-c NAME]                                   index what changed, and embed it
  qmd embed [-f] [-c NAME]                               compute the vectors that are missing
  qmd search QUERY       by words: prefixes, "phrases", -exclusions
  qmd vsearch QUERY      by meaning
  qmd query QUERY        both; or lines of lex:, vec:, hyde:, intent:
  qmd get FILE[:FROM[:COUNT]] | #DOCID
  qmd multi-get PATTERN [-l LINES] [--max-bytes N]
  qmd ls [COLLECTION[/PATH]]
  qmd status | cleanup [--dry-run]
  qmd mcp [--http [--host H] [--port 8181] [--token-file FILE] [--allow-host NAME] [--daemon]] | mcp stop
  qmd daemon start [--on-demand] [--idle-minutes N] | stop | status
  qmd install-shim DIR [--uninstall]                     an executable named qmd

Search options:
  -n N           results (5; 20 with --json and --files)   --all         every result
  -c NAME        this collection; may be repeated          --min-score X
  --json --csv --md --xml --files, or --format FORMAT      --full        whole documents
  --line-numbers --full-path --explain                     --wait        load the model if no daemon runs
Everywhere: --index NAME, --version, --help. Text after -- is never taken for an option.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command on this process's streams; the exit code is returned."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        code = run(words, os.environ, _working_directory(), sys.stdout.write, sys.stderr.write)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("qmd: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:  # removed under the caller; only relative paths are the worse for it
        return os.sep


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: str,
    out: Callable[[str], object],
    err: Callable[[str], object],
) -> int:
    """Run one command; what it says goes to `out` and `err`.

    An error that is the user's goes to `err` alone.
    """
    try:
        arguments = parse(argv)
        where = places(environment, arguments.value("index") or "index")
        return dispatch(Call(arguments, where, environment, directory, _silent(out), _silent(err)))
    except (PiRankError, OSError) as error:
        err(f"{error}\n")
        return FAILED


def dispatch(call: Call) -> int:
    """Run the call's command.

    :raises PiRankError: it cannot be done; the message says why.
    """
    arguments = call.arguments
    name = arguments.words[0] if arguments.words else None
    if "version" in arguments.switches:
        from pi_rank.version import __version__

        call.line(f"qmd {__version__} (pi-rank)")
        return OK
    if "help" in arguments.switches or name in (None, "help"):
        call.out(HELP)
        return OK if "help" in arguments.switches or name else FAILED
    if name not in COMMANDS:
        raise QmdError(f"Unknown command: {name}\nRun 'qmd --help' for usage.")
    for flag in arguments.unknown:
        call.note(f"Unknown option left out: {flag}")
    module, _, function = COMMANDS[name].partition(":")
    handler: Callable[[Call], int] = getattr(importlib.import_module(f"pi_rank.qmd.{module}"), function)
    return handler(call)


def _silent(write: Callable[[str], object]) -> Callable[[str], None]:
    def say(text: str) -> None:
        write(text)

    return say
