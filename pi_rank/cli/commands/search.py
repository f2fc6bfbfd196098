"""`pi-rank search`: ranked records, without a block."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli import report, session
from pi_rank.cli.commands import context
from pi_rank.cli.output import note, one_line, print_json, print_table

if TYPE_CHECKING:
    from pi_rank.results import Hit

USAGE = 2

EPILOG = """\
examples:
  pi-rank search "how do we roll back"
  pi-rank search deploy -k 20 --mode lexical --json
  pi-rank search deploy --cwd ~/work/orchard-api

Without --cwd or --profile every active record is searched; with one of them, only what applies there.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `search`."""
    parser.epilog = EPILOG
    parser.add_argument("query", metavar="QUERY", help="what to look for; - reads it from stdin")
    parser.add_argument(
        "-k", type=options.whole_number(1), default=10, metavar="N", help="how many records (%(default)s)"
    )
    parser.add_argument(
        "--mode",
        choices=["hybrid", "lexical", "semantic"],
        default="hybrid",
        help="rankings to use (%(default)s)",
    )
    options.add_min_relevance(parser)
    context.add_turn_options(parser)
    options.add_store(parser)
    options.add_daemon(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Search and print the hits, best first."""
    query = options.prompt_text(arguments.query)
    if not query.strip():
        note("the query is blank: say what to look for (see `pi-rank search --help`)")
        return USAGE
    scoped = arguments.cwd or arguments.profile
    with session.opened(arguments) as memory:
        told = () if arguments.no_sync else session.caught_up(memory).warnings
        turn = session.turn(arguments, query) if scoped else None
        hits = memory.search(
            query,
            k=arguments.k,
            mode=arguments.mode,
            context=turn,
            min_relevance=arguments.min_relevance,
        )
        session.tell_warnings(memory.problems(), told)
        _print(hits, as_json=arguments.json)
        sys.stdout.flush()  # before files are put in order for the next start
    return 0


def _print(hits: list[Hit], *, as_json: bool) -> None:
    if as_json:
        from pi_rank.results import hit_to_dict

        print_json([hit_to_dict(hit) for hit in hits])
    elif hits:
        from pi_rank.block.lines import statement_line

        rows = [
            [
                hit.id,
                hit.layer,
                f"{hit.score:.5f}",
                report.relevance(hit),
                report.sources(hit),
                one_line(statement_line(hit.record), 80),
            ]
            for hit in hits
        ]
        print_table(["record", "layer", "score", "relevance", "from", "statement"], rows)
    else:
        note("no record matches")
