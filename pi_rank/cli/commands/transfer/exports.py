"""`pi-rank export`: memory as JSON lines, Markdown, or the MCP memory server's graph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json

EPILOG = """\
examples:
  pi-rank export > memory.jsonl
  pi-rank export --as markdown -o memory.md
  pi-rank export --source claude-memory --as mcp -o memory.jsonl

jsonl is PI's own lines, and holds everything; markdown is a note of basic-memory's; mcp is the file of the
MCP memory server. Only active records are written, --all adds contested and outdated ones; deleted ones stay
deleted. A file that is there is never overwritten.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `export`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--as", choices=["jsonl", "markdown", "mcp"], default="jsonl", dest="form", help="(%(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="a file that is not there yet (stdout)")
    parser.add_argument(
        "--all", action="store_true", dest="everything", help="contested and outdated ones, too"
    )
    options.add_root(parser)
    options.add_sources(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the memory as text."""
    from pi_rank.memory.root import MemoryRoot, find_memory_root
    from pi_rank.memory.trusted import trusting
    from pi_rank.sources.registry import open_sources
    from pi_rank.transfer.exporting import exported, write_new, written

    with trusting(arguments.trust):
        folder = find_memory_root(arguments.root, options.working_directory(arguments))
        root = MemoryRoot(folder, opener=open_sources, sources=options.sources(arguments))
        records = exported(root, everything=arguments.everything)
    text = written(records, arguments.form)
    if arguments.output:
        write_new(Path(arguments.output), text)
    if arguments.json:
        said = {"file": arguments.output} if arguments.output else {"text": text.decode()}
        print_json({"as": arguments.form, "records": len(records), **said})
        return 0
    if not arguments.output:
        sys.stdout.buffer.write(text)
    note(f"{len(records)} records")
    return 0
