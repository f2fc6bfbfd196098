"""`pi-rank forget`: take back what /remember was told."""

from __future__ import annotations

import argparse
import asyncio
from importlib.util import find_spec
from pathlib import Path

from pi_rank.cli import arguments as options
from pi_rank.cli.output import print_json
from pi_rank.errors import ConfigError

EPILOG = """\
examples:
  pi-rank forget note_0f8fad5bd9cb469fa165b0b0a5f0c1d2
  pi-rank forget note_0f8fad5bd9cb469fa165b0b0a5f0c1d2 --memory-url https://memory.example --token-file FILE

A note's id is the `id` in the answer of /remember, and in each row of /recall. Notes that say the same go
with it. PI's own records are not notes: they are deleted where PI keeps them.
Exit codes: 0 taken back, 1 there is no such note, or the server cannot be asked.
"""
NEEDS = "pi-rank forget needs h11: pip install 'pi-rank[serve]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `forget`."""
    parser.epilog = EPILOG
    parser.add_argument("note_id", metavar="NOTE", help="the note's id")
    parser.add_argument(
        "--memory-url", default="http://127.0.0.1:8001", metavar="URL", help="the server (%(default)s)"
    )
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="the server's bearer token")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask the server to take the note back."""
    if find_spec("h11") is None:
        raise ConfigError(NEEDS)
    from pi_rank.recall.client.notes import forget

    count = asyncio.run(forget(arguments.memory_url, arguments.note_id, arguments.token_file))
    if arguments.json:
        print_json({"forgotten": count})
    else:
        print("1 note taken back" if count == 1 else f"{count} notes taken back, which said the same")
    return 0
