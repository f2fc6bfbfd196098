"""`pi-rank doctor`: checks every part that a turn needs, and says how to mend what is wrong."""

from __future__ import annotations

import argparse

from pi_rank.cli import arguments as options
from pi_rank.cli.checks import Check, run_checks
from pi_rank.cli.output import one_line, print_json

EPILOG = """\
Checks the Python it runs on, the compiled core, SQLite's FTS5, the model's files by their sha256, each
line of the memory files, and the store. Writes nothing. Exit code 1 when something is wrong; each such line
says what to do about it.
"""
MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `doctor`."""
    parser.epilog = EPILOG
    options.add_store(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run all checks, print them, and fail if one of them found something wrong."""
    from pi_rank.memory.trusted import trusting

    with trusting(arguments.trust):
        checks = run_checks(arguments)
    wrong = sum(check.state == "wrong" for check in checks)
    if arguments.json:
        print_json({"ok": not wrong, "checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            _print(check)
        print(
            "Everything is in order."
            if not wrong
            else f"{wrong} of {len(checks)} checks found something wrong."
        )
    return 1 if wrong else 0


def _print(check: Check) -> None:
    print(f"{MARKS[check.state]} {check.name}: {one_line(check.detail)}")
    if check.fix:
        print(f"      what to do: {one_line(check.fix)}")
