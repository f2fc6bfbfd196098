"""`pi-rank trust` and `untrust`: whose settings and memory are used besides the user's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json, print_table

EPILOG = """\
examples:
  pi-rank trust ~/work/orchard-api
  pi-rank trust --follow .
  pi-rank trust --list --json
  pi-rank untrust ~/work/orchard-api

A project's .pi/settings.json may lead to a memory of its own (localPath). One below ~/.pi is used without a
word. Any other, in the project or elsewhere, is left out until you trust the folder: its records become rules
that your agent obeys. Trust is for the settings and the memory files as they are now: after a change, a
`git pull` perhaps, look again. --follow trusts whatever the memory will say; use it where only you and your
agent write. --trust of other commands is for one run.
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
    from pi_rank.memory.local_memory import settings_of, trust

    if arguments.listing:
        return _list(as_json=arguments.json)
    folder = _absolute(arguments.folder)
    entry = trust(folder, follow=arguments.follow)
    top = settings_of(folder).folder
    if arguments.json:
        print_json({"folder": str(top), "memory": entry.memory or None, "follow": entry.files is None})
        return 0
    until = "whatever it will say" if entry.files is None else "until its files change"
    memory = f", with the memory {entry.memory}, {until}" if entry.memory else "; they name no memory"
    print(f"the settings of {top} are trusted{memory}")
    return 0


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
        print_json(
            [
                {"folder": folder, "memory": entry.memory, "follow": entry.files is None, "state": state}
                for folder, entry, state in found
            ]
        )
    elif found:
        print_table(["folder", "memory", "state"], [[folder, entry.memory, s] for folder, entry, s in found])
    else:
        note("no folder is trusted")
    return 0


def _absolute(folder: str) -> Path:
    return Path(folder).expanduser().resolve()
