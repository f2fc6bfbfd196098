"""`pi-rank qmd` and `pi-rank mcp`: handed over whole to pi_rank.qmd."""

from __future__ import annotations

import argparse
import os

# No argument can hold it, so that none is taken for an option of ours.
NO_PREFIX = "\0"


def configure(parser: argparse.ArgumentParser) -> None:
    """Everything after `qmd` is qmd's own."""
    _hand_over(parser, [])


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """`pi-rank mcp` is `qmd mcp`."""
    _hand_over(parser, ["mcp"])


def _hand_over(parser: argparse.ArgumentParser, words: list[str]) -> None:
    parser.prefix_chars = NO_PREFIX
    parser.add_argument("argv", nargs=argparse.REMAINDER)

    def run(arguments: argparse.Namespace) -> int:
        from pi_rank.qmd.launcher import from_daemon

        argv = [*words, *arguments.argv]
        if arguments.argv[:1] in (["-h"], ["--help"]):
            print(parser.format_usage())
        code = from_daemon(argv, dict(os.environ))
        if code is None:
            from pi_rank.qmd.command import main

            code = main(argv)
        return code

    parser.set_defaults(run=run)
