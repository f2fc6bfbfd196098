"""Opening the engine that a command's options describe, and bringing it up to date."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note
from pi_rank.cli.progress import embedding_progress

if TYPE_CHECKING:
    from pi_rank.context import SessionContext
    from pi_rank.engine import MemoryEngine
    from pi_rank.memory.contents import Skipped
    from pi_rank.results import SyncReport


MOST_SKIPPED = 20  # lines named one by one: of a file that is no memory at all, the rest says nothing new


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[MemoryEngine]:
    """The engine for `--root`, `--store`, `--model` and `--source`."""
    from pi_rank.memory.root import find_memory_root
    from pi_rank.memory.trusted import trusting

    with trusting(arguments.trust):
        root = find_memory_root(arguments.root, options.working_directory(arguments))
        with _engine(arguments, root) as engine:
            yield engine


def _engine(arguments: argparse.Namespace, root: Path) -> AbstractContextManager[MemoryEngine]:
    """An engine of this command's own, or one that is open already in the process that serves it."""
    model, sources = options.model_name(arguments), options.sources(arguments)
    if arguments.engines is not None and not sources:
        lent: AbstractContextManager[MemoryEngine] = arguments.engines.opened(root, arguments.store, model)
        return lent
    from pi_rank.engine import MemoryEngine

    return MemoryEngine.open(root, store=arguments.store, model=model, sources=sources)


def synced(engine: MemoryEngine) -> SyncReport:
    """Bring the store up to date with the memory files; what was skipped goes to stderr."""
    report = embed(engine)
    tell_problems(report)
    return report


def caught_up(engine: MemoryEngine, deadline_ms: float | None = None) -> SyncReport:
    """As `synced`, for an answer that is given whatever becomes of it; what was skipped goes to stderr."""
    with embedding_progress() as progress:
        report = engine.catch_up(deadline_ms=deadline_ms, progress=progress)
    tell_problems(report)
    return report


def embed(engine: MemoryEngine) -> SyncReport:
    """Sync without naming problems, where somebody has named them already."""
    with embedding_progress() as progress:
        return engine.sync(progress=progress)


def tell_problems(report: SyncReport) -> None:
    """The first skipped lines and each warning of a sync, as one line each on stderr."""
    tell_skipped(report.skipped, "`pi-rank sync --json` names all")
    for warning in report.warnings:
        note(f"warning: {warning}")


def tell_warnings(warnings: Sequence[str], told: Sequence[str]) -> None:
    """What an answer goes without, on stderr, but for what its sync has said."""
    for warning in warnings:
        if warning not in told:
            note(f"warning: {warning}")


def tell_skipped(skipped: Sequence[Skipped], where: str) -> None:
    """The first skipped lines on stderr, and how many more there are."""
    for line in skipped[:MOST_SKIPPED]:
        note(f"skipped {line.file}:{line.line}: {line.reason}")
    if len(skipped) > MOST_SKIPPED:
        note(f"skipped {len(skipped) - MOST_SKIPPED:,} more lines; {where} {len(skipped):,}")


def turn(arguments: argparse.Namespace, prompt: str) -> SessionContext:
    """The turn that `--cwd` and `--profile` describe."""
    from pi_rank.context import SessionContext

    folder = options.working_directory(arguments)
    return SessionContext(
        latest_user_message=prompt,
        working_directory=folder,
        profile_id=arguments.profile or None,
        reader=getattr(arguments, "reader", None) or getattr(arguments, "agent", None),  # of a hook
    )
