"""`status`: what is indexed, where, and how fresh it is."""

from __future__ import annotations

from pi_rank.files.locks import holder, is_held
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.commands.get import human_size
from pi_rank.qmd.config import MEMORY, Collection
from pi_rank.qmd.search.collection_facts import (
    ago,
    all_embedded,
    counted,
    embedded,
    shown_pattern,
    store_bytes,
)
from pi_rank.qmd.search.library import Library


def run_status(call: Call) -> int:
    """Sizes, counts and collections, for a person."""
    with call.library() as library:
        _head(call, library)
        collections = list(library.config.collections.values())
        if not collections:
            call.line("\nNo collections. Run 'qmd collection add .' to index markdown files.")
            return 0
        call.line("\nCollections")
        for each in collections:
            _collection(call, library, each)
        _examples(call, collections[-1])
    return 0


def _head(call: Call, library: Library) -> None:
    index = call.places.database
    total = sum(counted(library, each)[0] for each in library.config.collections.values())
    vectors, pending = all_embedded(library)
    call.line(
        f"QMD Status\n\nIndex: {index}\nSize:  {human_size(index.stat().st_size if index.is_file() else 0)}"
    )
    running = holder(call.places.daemon_lock) if is_held(call.places.daemon_lock) else None
    call.line(f"Daemon: {f'running (PID {running})' if running else 'not running'}")
    call.line(f"\nDocuments\n  Total:    {total} files indexed\n  Vectors:  {vectors} embedded")
    if pending:
        call.line(f"  Pending:  {pending} need embedding (run 'qmd embed')")
    updates = library.files.updated().values() if library.files else ()
    if updates:
        call.line(f"  Updated:  {ago(max(updates))}")


def _collection(call: Call, library: Library, each: Collection) -> None:
    files, updated = counted(library, each)
    call.line(f"  {each.name} ({each.uri})\n    Pattern:  {shown_pattern(each)}")
    call.line(f"    Files:    {files} (updated {ago(updated)})")
    if each.kind == MEMORY:
        vectors, pending = embedded(library, each)
        call.line(f"    Vectors:  {vectors} embedded, {pending} pending")
        call.line(f"    Store:    {each.store} ({human_size(store_bytes(each))})")
    if each.contexts:
        call.line(f"    Contexts: {len(each.contexts)}")
        for prefix, text in sorted(each.contexts.items()):
            call.line(f"      /{prefix}: {text}")


def _examples(call: Call, each: Collection) -> None:
    call.line(f"\nExamples\n  # List files in a collection\n  qmd ls {each.name}")
    call.line(f"  # Get a document\n  qmd get {each.uri}path/to/file.md")
    call.line(f'  # Search within a collection\n  qmd search "query" -c {each.name}')
