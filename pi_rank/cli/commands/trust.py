"""`pi-rank trust` and `untrust`: whose settings and memory are used besides the user's own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json, print_table

if TYPE_CHECKING:
    from pi_rank.memory.trusted import Trusted

EPILOG = """\
examples:
  pi-rank trust ~/work/orchard-api
  pi-rank trust --follow .
  pi-rank trust --list --json
  pi-rank untrust ~/work/orchard-api

A project's .pi/settings.json may lead to a memory of its own (localPath). One below ~/.pi is used without a
word. Any other, in the project or elsewhere, is left out until you trust the folder: its records become rules
that your agent obeys. Trust is for the settings and the memory files as they are now: after a change, a
`git pull` perhaps, look again. So it is with a project's CLAUDE.md, AGENTS.md and the like, where they are
read as memory (--source). --follow trusts whatever the memory, the rules and any notes in the folder will
say; use it where only you and your agent write. --trust of other commands is for one run.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trust`."""
    parser.epilog = EPILOG
    _add_folder(parser)
    parser.add_argument("--follow", action="store_true", help="also when the memory's files change")
    parser.add_argument(
        "--list", action="store_true", dest="listing", help="show what is trusted, and how it stands"
    )
    options.add_json(parser)
    parser.set_defaults(run=run)


def configure_untrust(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `untrust`."""
    _add_folder(parser)
    options.add_json(parser)
    parser.set_defaults(run=run_untrust)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="a project's folder (this one)")


def run(arguments: argparse.Namespace) -> int:
    """Trust a folder, or list those that are trusted."""
    from pi_rank.memory.local_memory import trust
    from pi_rank.sources.instructions import trustable

    if arguments.listing:
        return _list(as_json=arguments.json)
    folder = _absolute(arguments.folder)
    entries = trust(folder, *trustable(folder), follow=arguments.follow)
    if arguments.json:
        rows = [_row(name, entry) for name, entry in entries.items()]
        print_json({**rows[-1], **rows[0], "sources": rows[-1]["sources"]})
        return 0
    for name, entry in entries.items():
        print("\n".join(_said(name, entry)))
    return 0


def _said(folder: str, entry: Trusted) -> Iterator[str]:
    if entry.settings:
        until = "whatever it will say" if entry.files is None else "until its files change"
        memory = f", with the memory {entry.memory}, {until}" if entry.memory else "; they name no memory"
        yield f"the settings of {folder} are trusted{memory}"
    if entry.sources is None:
        yield f"rules for agents and notes in {folder} are trusted, whatever they will say"
    elif entry.sources:
        names = ", ".join(sorted(entry.sources))
        yield f"rules for agents in {folder} are trusted until they change: {names}"


def _row(folder: str, entry: Trusted) -> dict[str, Any]:
    sources = None if entry.sources is None else sorted(entry.sources)
    follow = entry.files is None or entry.sources is None
    return {"folder": folder, "memory": entry.memory or None, "follow": follow, "sources": sources}


def run_untrust(arguments: argparse.Namespace) -> int:
    """Take trust back."""
    from pi_rank.memory.local_memory import untrust

    folder = _absolute(arguments.folder)
    known = untrust(folder)
    if arguments.json:
        print_json({"folder": str(folder), "was_trusted": known})
    elif known:
        print(f"{folder} is not trusted any more")
    else:
        note(f"{folder} was not trusted; see `pi-rank trust --list`")
    return 0 if known else 1


def _list(*, as_json: bool) -> int:
    from pi_rank.memory.local_memory import standing
    from pi_rank.memory.trusted import trusted_folders

    found = [(folder, entry, standing(folder, entry)) for folder, entry in trusted_folders().items()]
    if as_json:
        print_json([{**_row(folder, entry), "state": state} for folder, entry, state in found])
    elif found:
        print_table(["folder", "memory", "state"], [[folder, entry.memory, s] for folder, entry, s in found])
    else:
        note("no folder is trusted")
    return 0


def _absolute(folder: str) -> Path:
    return Path(folder).expanduser().resolve()
