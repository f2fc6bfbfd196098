"""`pi-rank context`: one turn, end to end."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli import report, session
from pi_rank.cli.output import note, print_json

if TYPE_CHECKING:
    from pi_rank.results import RetrievalContext

EPILOG = """\
examples:
  pi-rank context "Why is the build red?"
  pi-rank context "部署前要检查什么？" --cwd ~/work/orchard-api --explain
  echo "Draft the release note" | pi-rank context - --json | jq .selected

The block goes to stdout as it is; nothing is printed where nothing applies or the prompt is not worth memory
("ok", "thanks!", a slash command). The time of each step goes to stderr. Memory files that changed since the
last command are read first; --no-sync answers from the store as it is. Write -- before a prompt of one word
that begins with a dash.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `context`."""
    parser.epilog = EPILOG
    parser.add_argument("prompt", metavar="PROMPT", help="the user's message; - reads it from stdin")
    add_turn_options(parser)
    parser.add_argument(
        "--today", type=options.date, metavar="DATE", help="the day of the turn, in UTC (today)"
    )
    parser.add_argument(
        "--max-bytes",
        type=options.whole_number(0),
        default=14_000,
        metavar="N",
        help="size of the block in bytes of UTF-8 (%(default)s)",
    )
    parser.add_argument(
        "--max-records",
        type=options.whole_number(0),
        metavar="N",
        help="records under Selected Memory (config.json, else 12)",
    )
    options.add_min_relevance(parser)
    parser.add_argument(
        "--deadline-ms", type=options.milliseconds, metavar="MS", help="leave out what is not ready by then"
    )
    parser.add_argument(
        "--explain", action="store_true", help="also print why each record was chosen or left out"
    )
    parser.add_argument(
        "--as",
        choices=["pi-message"],
        dest="form",
        help="print the message that a pi extension returns from before_agent_start, or null",
    )
    options.add_store(parser)
    options.add_daemon(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def add_turn_options(parser: argparse.ArgumentParser) -> None:
    """`--cwd`, `--profile`, `--reader`, `--no-sync`: where and for whom it is asked, and from what state."""
    parser.add_argument("--cwd", metavar="DIR", help="working directory of the turn (the current one)")
    parser.add_argument("--profile", metavar="ID", help="profile id (worked out from the working directory)")
    parser.add_argument(
        "--reader",
        metavar="AGENT",
        help="the agent that the answer is for: leave out what it reads by itself",
    )
    parser.add_argument("--no-sync", action="store_true", help="do not look for changed memory files first")


def run(arguments: argparse.Namespace) -> int:
    """Answer one turn and print it."""
    prompt = options.prompt_text(arguments.prompt)
    with session.opened(arguments) as memory:
        told = () if arguments.no_sync else session.caught_up(memory, arguments.deadline_ms).warnings
        result = memory.build_retrieval_context(
            session.turn(arguments, prompt),
            today=arguments.today,
            max_bytes=arguments.max_bytes,
            max_records=arguments.max_records,
            min_relevance=arguments.min_relevance,
            deadline_ms=arguments.deadline_ms,
        )
        session.tell_warnings(result.stats["warnings"], told)
        _print(arguments, result)
        sys.stdout.flush()  # before files are put in order for the next start
    return 0


def _print(arguments: argparse.Namespace, result: RetrievalContext) -> None:
    if arguments.form == "pi-message":
        print_json(result.as_custom_message())
        return
    if arguments.json:
        print_json(result.to_dict())
        return
    if result.markdown:
        print(result.markdown.removesuffix("\n"))
    if arguments.explain:
        print()
        report.print_selected(result)
        print()
        report.print_left_out(result)
    note(report.summary(result))
