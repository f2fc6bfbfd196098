"""`pi-rank import`: a new memory root from memory in other forms."""

from __future__ import annotations

import argparse
from pathlib import Path

from pi_rank.cli import arguments as options
from pi_rank.cli.output import print_json

EPILOG = """\
examples:
  pi-rank import mcp-memory=~/memory.jsonl --to ~/.pi/agent/new-memory
  pi-rank import claude-memory agents-md=~/work/orchard --to ~/new-memory
  pi-rank import jsonl=export.jsonl --to ~/new-memory

What can be read, each NAME or NAME=PATH: {names}.

A new memory root is written, whole or not at all, and nothing else: what there is at DIR stays. Rules that
are scoped to a folder become those of its project. The sources are not changed. To read them as they are, at
every turn, use --source or config.json instead (docs/sources.md).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `import`."""
    from pi_rank.sources.registry import source_names

    parser.epilog = EPILOG.format(names=", ".join(source_names()))
    parser.add_argument("sources", nargs="+", metavar="FROM", help="a source, NAME or NAME=PATH")
    parser.add_argument("--to", required=True, metavar="DIR", help="the new memory root")
    parser.add_argument("--trust", action="store_true", help="for this run, use notes and rules as they are")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write a new root."""
    from pi_rank.cli.session import tell_skipped
    from pi_rank.clock import utc_day
    from pi_rank.memory.trusted import trusting
    from pi_rank.transfer.importing import import_memory

    specs = options.sources(arguments) or []
    root = Path(arguments.to).expanduser().absolute()
    with trusting(arguments.trust):
        done = import_memory(specs, Path.cwd(), root, utc_day(None))
    tell_skipped(done.skipped, "`--json` names all")
    if arguments.json:
        skipped = [{"file": each.file, "line": each.line, "reason": each.reason} for each in done.skipped]
        print_json({"root": str(root), "files": done.files, "skipped": skipped})
        return 0
    for file, count in sorted(done.files.items()):
        print(f"{root / file}: {count} record{'s' if count > 1 else ''}")
    return 0
