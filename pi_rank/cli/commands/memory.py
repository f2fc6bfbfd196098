"""`pi-rank sync`, `status` and `rebuild`: the store and the memory files behind it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi_rank.cli import arguments as options
from pi_rank.cli import session
from pi_rank.cli.output import print_json, print_table

if TYPE_CHECKING:
    from pi_rank.results import SyncReport


def configure_sync(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sync`."""
    parser.epilog = (
        "Reads every memory file and writes what changed to the store in one transaction; only changed\n"
        "texts are embedded. The memory files are never written. Unusable lines are listed on stderr.\n"
    )
    _configure(parser, run_sync)


def configure_status(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `status`."""
    parser.epilog = "Shows the store as it is, without reading the memory files again.\n"
    _configure(parser, run_status)


def configure_rebuild(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `rebuild`."""
    parser.epilog = (
        "For a store that is damaged or was written by another version. Everything in it comes from the\n"
        "memory files, so nothing is lost but the time to embed them again; a damaged file is kept aside.\n"
    )
    _configure(parser, run_rebuild)


def _configure(parser: argparse.ArgumentParser, run: Any) -> None:  # noqa: ANN401
    options.add_store(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run_sync(arguments: argparse.Namespace) -> int:
    """Sync, and say what changed."""
    with session.opened(arguments) as engine:
        _print_sync(session.synced(engine), as_json=arguments.json)
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """Print the engine's status, one value a line."""
    with session.opened(arguments) as engine:
        status = engine.status()
    if arguments.json:
        print_json(status)
    else:
        print_table(["store", ""], [[name, _text(value)] for name, value in status.items()])
    return 0


def run_rebuild(arguments: argparse.Namespace) -> int:
    """Make the store anew, whatever state it is in, and embed what it lost."""
    from pi_rank.memory.root import MemoryRoot, find_memory_root
    from pi_rank.memory.trusted import trusting
    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.sources.registry import open_sources
    from pi_rank.store.rebuild import known_files, rebuild
    from pi_rank.store.store import default_store_path

    sources = options.sources(arguments)
    with trusting(arguments.trust):
        folder = find_memory_root(arguments.root, options.working_directory(arguments))
        root = MemoryRoot(folder, opener=open_sources, sources=sources)
        path = Path(arguments.store or default_store_path(root.path, map(str, sources or ())))
        made = rebuild(path, root.read(known_files(path)), FtsAnalyzer())
    session.tell_problems(made)
    with session.opened(arguments) as engine:
        embedded = session.embed(engine).embedded
    _print_sync(msgspec.structs.replace(made, embedded=embedded), as_json=arguments.json)
    return 0


def _print_sync(report: SyncReport, *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(report))
        return
    counts = {name: getattr(report, name) for name in ("added", "changed", "removed", "unchanged")}
    changes = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"{changes}; {report.embedded} texts embedded, {len(report.skipped)} lines skipped")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
