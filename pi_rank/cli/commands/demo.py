"""`pi-rank demo`: three turns on the sample memory that comes with the package."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.cli import arguments as options
from pi_rank.cli import report, session
from pi_rank.cli.output import heading, print_json

if TYPE_CHECKING:
    from pi_rank.engine import MemoryEngine
    from pi_rank.results import RetrievalContext, SyncReport

WARM_ROUNDS = 5
SAMPLE = Path(__file__).parents[2] / "sample"

EPILOG = """\
The sample is a developer's memory of 90 records in four languages and three projects. Its files are read
from the package; the store is made in a temporary folder and removed at the end. Nothing of yours is read
or written.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `demo`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--model", default="default", metavar="NAME", help='embedding model; "none" ranks by words only'
    )
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the sample's turns from the sample's memory."""
    from pi_rank.engine import MemoryEngine

    turns = json.loads((SAMPLE / "turns.json").read_text(encoding="utf-8"))
    # ignore_cleanup_errors: on Windows a virus scanner may still hold the store file for a moment.
    with tempfile.TemporaryDirectory(prefix="pi-rank-demo-", ignore_cleanup_errors=True) as folder:
        store = Path(folder) / "demo.sqlite"
        with MemoryEngine.open(SAMPLE, store=store, model=options.model_name(arguments)) as engine:
            synced = session.synced(engine)
            results = [_answer(engine, turn) for turn in turns]
            again = [_best_time(engine, turn) for turn in turns]
    if arguments.json:
        print_json(
            [{"turn": turn, "result": result.to_dict()} for turn, result in zip(turns, results, strict=True)]
        )
    else:
        _print(synced, turns, results, again)
    return 0


def _answer(engine: MemoryEngine, turn: dict[str, Any]) -> RetrievalContext:
    from pi_rank.context import SessionContext

    context = SessionContext(latest_user_message=turn["prompt"], working_directory=turn["working_directory"])
    return engine.build_retrieval_context(context, today=dt.date.fromisoformat(turn["today"]))


def _best_time(engine: MemoryEngine, turn: dict[str, Any]) -> float:
    # The first answer pays for what later ones find in memory, and other programs share the machine.
    return min(_answer(engine, turn).timings["total"] for _ in range(WARM_ROUNDS))


def _print(
    synced: SyncReport, turns: list[dict[str, Any]], results: list[RetrievalContext], again: list[float]
) -> None:
    print(f"{synced.added} records read from {SAMPLE}, {synced.embedded} texts embedded.")
    for turn, result, warm in zip(turns, results, again, strict=True):
        print()
        heading(turn["title"])
        print(f"prompt: {turn['prompt']}\nfolder: {turn['working_directory']}\n")
        print(result.markdown)
        report.print_selected(result)
        print()
        report.print_left_out(result)
        print(f"\n{report.summary(result)}\nThe same turn again, best of {WARM_ROUNDS}: {warm:.2f} ms.")
    print(
        f'\nTry your own: pi-rank context "…" --root "{SAMPLE}" --cwd /home/mina/work/orchard-api --explain'
    )
