"""One turn on one memory root, for scripts and notebooks: open, catch up, ask, close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_rank.block.sections import MAX_BLOCK_BYTES
from pi_rank.context import SessionContext
from pi_rank.engine import MemoryEngine
from pi_rank.memory.root import find_memory_root
from pi_rank.places import current_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from pi_rank.embedding import Embedder
    from pi_rank.memory.sources.protocol import SourceSpec
    from pi_rank.results import RetrievalContext


def build_retrieval_context(
    root: str | Path | None,
    prompt: str,
    *,
    working_directory: str | Path | None = None,
    store: str | Path | None = None,
    model: str | Embedder | None = "default",
    today: date | None = None,
    max_bytes: int = MAX_BLOCK_BYTES,
    sources: Sequence[SourceSpec] | None = None,
) -> RetrievalContext:
    """One turn on one memory root, brought up to date first: for scripts and notebooks.

    A program with more than one turn keeps a `MemoryEngine` open instead.

    :param root: None finds it as PI does (`find_memory_root`).
    :param working_directory: where the prompt is asked: decides profile and project. By default the folder
        that the process works in.
    :param sources: memory in other forms, as in `MemoryEngine.open`.
    :raises PiRankError: the root or the store cannot be used.
    """
    where = current_folder() if working_directory is None else str(working_directory)
    folder = find_memory_root(root, where)
    with MemoryEngine.open(folder, store=store, model=model, sources=sources) as engine:
        engine.catch_up()
        context = SessionContext(latest_user_message=prompt, working_directory=where)
        return engine.build_retrieval_context(context, today=today, max_bytes=max_bytes)
