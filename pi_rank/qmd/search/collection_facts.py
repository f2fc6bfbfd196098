"""What a person is told of a collection: what is indexed, how much of it, and how fresh it is."""

from __future__ import annotations

import time
from pathlib import Path

from pi_rank.embedding.registry import find_card
from pi_rank.errors import ModelError
from pi_rank.qmd.config import MARKDOWN, Collection
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.shelves.found import Embedded


def shown_pattern(collection: Collection) -> str:
    """The pattern, or, for a memory root, what is indexed instead of files."""
    return collection.pattern if collection.kind == MARKDOWN else "memory records"


def counted(library: Library, collection: Collection) -> tuple[int, float | None]:
    """(documents, when they were last brought up to date in seconds since 1970, None for never)."""
    if collection.kind == MARKDOWN:
        documents = len(library.documents([collection]))
        return documents, library.files.updated().get(collection.name) if library.files else None
    shelf, store = library.memory(collection), Path(collection.store)
    return shelf.count() if shelf else 0, store.stat().st_mtime if store.is_file() else None


def embedded(library: Library, collection: Collection) -> Embedded:
    """The vectors of a memory collection by the model that answers, and the records that wait for one."""
    shelf = library.memory(collection)
    if shelf is None:
        return Embedded()
    try:
        model_id = find_card(shelf.model).model_id
    except ModelError:  # its card is gone, which a search by meaning says
        model_id = None
    return shelf.embedded(model_id)


def all_embedded(library: Library) -> Embedded:
    """The same of everything together, Markdown and memory."""
    files = library.files.embedded() if library.files else Embedded()
    memories = [each for each in library.config.collections.values() if each.kind != MARKDOWN]
    parts = [files, *(embedded(library, each) for each in memories)]
    return Embedded(sum(part.vectors for part in parts), sum(part.pending for part in parts))


def store_bytes(collection: Collection) -> int:
    """What the store of a memory collection takes on disk, with what lies beside it."""
    store = Path(collection.store)
    return sum(path.stat().st_size for path in store.parent.glob(f"{store.name}*") if path.is_file())


def ago(moment: float | None) -> str:
    """How long ago, in the largest unit that fits."""
    if moment is None:
        return "never"
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return f"{int(seconds)}s ago"
