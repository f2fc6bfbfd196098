"""What a person is told of a collection: what is indexed, how much of it, and how fresh it is."""

from __future__ import annotations

import time
from pathlib import Path

from pi_rank.qmd.config import MARKDOWN, Collection
from pi_rank.qmd.search.library import Library


def shown_pattern(collection: Collection) -> str:
    """The pattern, or, for a memory root, what is indexed instead of files."""
    return collection.pattern if collection.kind == MARKDOWN else "memory records"


def counted(library: Library, collection: Collection) -> tuple[int, float | None]:
    """(documents, when they were last brought up to date in seconds since 1970, None for never)."""
    documents = len(library.documents([collection]))
    if collection.kind == MARKDOWN:
        return documents, library.files.updated().get(collection.name) if library.files else None
    store = Path(collection.store)
    return documents, store.stat().st_mtime if store.is_file() else None


def ago(moment: float | None) -> str:
    """How long ago, in the largest unit that fits."""
    if moment is None:
        return "never"
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return f"{int(seconds)}s ago"
