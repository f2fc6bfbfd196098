"""`pi-rank batch`: many turns from a file, answered on all cores."""

from __future__ import annotations

import argparse
from itertools import tee
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli import session
from pi_rank.cli.output import note
from pi_rank.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pi_rank.batch_files import Turn

EPILOG = """\
examples:
  pi-rank batch turns.jsonl -o answers.jsonl
  pi-rank batch turns.jsonl -o answers.parquet --resume
  cat turns.jsonl | pi-rank batch - > answers.jsonl

A turn is an object with latest_user_message and, as far as known, profile_id, project_root, repository_id,
working_directory, first_user_message, recent_files_touched, detected_domain_tags, task_intent, reader. An
answer is what `pi-rank context --json` prints, with `turn`, the line it answers; --explain adds the ids that
were left out. A line that is no turn is reported on stderr and skipped. Until all turns are answered, the
answers are in OUT.partial; --resume goes on from there. Parquet needs the extra: pip install
'pi-rank[parquet]'.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `batch`."""
    parser.epilog = EPILOG
    parser.add_argument("turns", metavar="TURNS", help=".jsonl or .parquet file of turns; - reads stdin")
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="file of answers (stdout)")
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted run stopped")
    parser.add_argument("--threads", type=options.whole_number(1), metavar="N", help="threads (one a core)")
    parser.add_argument("--no-sync", action="store_true", help="do not look for changed memory files first")
    parser.add_argument("--today", type=options.date, metavar="DATE", help="the day of all turns (today)")
    parser.add_argument("--explain", action="store_true", help="say of each turn what was left out and why")
    options.add_store(parser)
    options.add_daemon(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer every turn, in order."""
    from pi_rank.batch_files import count_turns, open_answers, read_turns

    with (
        session.opened(arguments) as memory,
        open_answers(arguments.output, resume=arguments.resume) as answers,
    ):
        if not arguments.no_sync:
            session.caught_up(memory)
        total = count_turns(arguments.turns)
        turns, asked = tee(_usable(arguments.turns, read_turns(arguments.turns, after=answers.answered)))
        results = memory.iterate_batch(
            (turn.context for turn in turns), threads=arguments.threads, today=arguments.today
        )
        with progress_bar("turns", begin=answers.answered) as show:
            for turn, result in zip(asked, results, strict=True):
                answers.write(turn.number, result.to_dict(excluded=arguments.explain))
                if show is not None:
                    show(turn.number, total)
    return 0


def _usable(source: str, turns: Iterator[Any]) -> Iterator[Turn]:
    from pi_rank.batch_files import BadTurn

    for turn in turns:
        if isinstance(turn, BadTurn):
            note(f"skipped {source}:{turn.number}: {turn.reason}")
        else:
            yield turn
