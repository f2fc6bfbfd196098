"""`update`, `embed` and `cleanup`: the index after the files, the vectors after the index."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from pi_rank.errors import PiRankError
from pi_rank.qmd import config as configuration
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import MARKDOWN, MEMORY, Collection, Config
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.index.collection_rows import forget_rows
from pi_rank.qmd.index.index import open_index, translated
from pi_rank.qmd.index.indexing import ORPHAN_VECTORS, Counts, drop_orphans, update
from pi_rank.qmd.search.collection_facts import all_embedded, shown_pattern
from pi_rank.qmd.stores import kind_of, store_path
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store.schema import transaction

# PI gives an update 30 seconds, of which loading a model and reading files must leave enough.
UPDATE_EMBED_SECONDS = 15.0

# PI deletes a record by writing the file anew, in place, and asks for an update at once: what a shorter file
# says is believed two seconds after the last writing.
WRITER_SECONDS = 3.0


def run_update(call: Call) -> int:
    """Bring collections up to date, then embed what changed for as long as the budget lasts.

    One that fails is named on stderr, and the others are brought up to date all the same.
    """
    config = configuration.load(call.places.config)
    collections = _asked_for(call, config)
    if not collections:
        call.line("No collections found. Run 'qmd collection add .' to index markdown files.")
        return 0
    call.line(f"Updating {len(collections)} collection(s)...\n")
    done = [each for place in enumerate(collections, 1) if (each := _updated(call, *place, len(collections)))]
    if len(done) == len(collections):
        call.line("✓ All collections updated.")
    _embed_some(call, done)
    return 0 if len(done) == len(collections) else 1


def _updated(call: Call, number: int, collection: Collection, total: int) -> Collection | None:
    """The collection as it is now; None where it could not be brought up to date."""
    try:
        collection = _redetected(call, collection)
        call.line(f"[{number}/{total}] {collection.name} ({shown_pattern(collection)})")
        index_collection(call, collection)
    except (PiRankError, OSError) as error:
        call.note(f"{collection.name} was not updated: {error}")
        return None
    return collection


def run_embed(call: Call) -> int:
    """Embed everything that has no vector; `-f` forgets the vectors first."""
    config = configuration.load(call.places.config)
    collections = _asked_for(call, config)
    from pi_rank.qmd.commands.embedding_run import embed, forget_vectors

    if call.has("force"):
        forget_vectors(call, collections)
    done = embed(call, collections, None)
    if done.busy:
        raise QmdError(done.busy)
    call.line(
        f"✓ Embedded {done.embedded} passages" if done.embedded else "✓ All content already has embeddings"
    )
    return 0


def run_cleanup(call: Call) -> int:
    """Remove what no file needs any more, and compact the index."""
    dry = call.has("dry_run")
    with translated(call.places.database):
        connection = open_index(call.places.database)
        try:
            orphans = 0 if connection is None else _clean(connection, dry)
        finally:
            if connection is not None:
                connection.close()
    call.out("Dry run — no changes made.\n\nWould clear" if dry else "✓ Cleared")
    call.line(" 0 cached API responses")
    if orphans:
        call.line(
            f"Would remove {orphans} orphaned embeddings"
            if dry
            else f"✓ Removed {orphans} orphaned embeddings"
        )
    else:
        call.line("No orphaned embeddings to remove")
    call.line("Would compact FTS and vacuum the database" if dry else "✓ FTS compacted, database vacuumed")
    return 0


def _clean(connection: sqlite3.Connection, dry: bool) -> int:
    """The number of vectors that no file needs."""
    if dry:
        return int(connection.execute(f"SELECT count(*) FROM vectors {ORPHAN_VECTORS}").fetchone()[0])
    with transaction(connection, write=True):
        _, orphans = drop_orphans(connection)
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    connection.execute("VACUUM")
    return orphans


def index_collection(call: Call, collection: Collection) -> None:
    """Update one collection and write what changed."""
    counts = (
        _update_memory(call, collection) if collection.kind == MEMORY else _update_files(call, collection)
    )
    what = "memory records" if collection.kind == MEMORY else collection.pattern
    call.line(f"Collection: {collection.path} ({what})\n")
    call.line(
        f"Indexed: {counts.new} new, {counts.updated} updated, "
        f"{counts.unchanged} unchanged, {counts.removed} removed\n"
    )
    for warning in counts.warnings:
        call.note(f"Warning: {warning}")


def tell_pending(call: Call) -> None:
    """How many documents have still to be embedded, where there are any."""
    with call.library() as library:
        pending = all_embedded(library).pending
    if pending:
        call.line(f"Run 'qmd embed' to update embeddings ({pending} unique hashes need vectors)")


def _asked_for(call: Call, config: Config) -> list[Collection]:
    names = call.arguments.values.get("collection", []) or call.words
    return [config.collection(name) for name in dict.fromkeys(names)] or list(config.collections.values())


def _redetected(call: Call, collection: Collection) -> Collection:
    """The collection as its folder is now: PI adds its root before the first record is written."""
    is_memory = collection.kind == MEMORY
    if not is_memory and (
        collection.pattern != configuration.DEFAULT_PATTERN or kind_of(Path(collection.path)) == MARKDOWN
    ):
        return collection
    now = collection._replace(kind=MEMORY, store=str(store_path(collection.path)))
    if now == collection:
        return collection
    with configuration.changing(call.places.config) as box:
        now = box[0].collection(collection.name)._replace(kind=MEMORY, store=now.store)
        box[0] = box[0].with_collection(now)
    if not is_memory:
        forget_rows(call.places.database, collection.name)
        call.note(f"{collection.name} is a PI memory root now: its records are indexed, one by one.")
    return now


def _update_files(call: Call, collection: Collection) -> Counts:
    analyzer = FtsAnalyzer()
    try:
        with translated(call.places.database):
            connection = open_index(call.places.database, create=True)
            assert connection is not None
            try:
                return update(connection, collection, analyzer)
            finally:
                connection.close()
    finally:
        analyzer.close()


def _update_memory(call: Call, collection: Collection) -> Counts:
    from pi_rank.memory.root import MemoryRoot
    from pi_rank.snapshot.file import snapshot_path
    from pi_rank.sources.registry import open_sources
    from pi_rank.store.store import MemoryStore

    analyzer = FtsAnalyzer()
    try:
        with MemoryStore.open(collection.store) as store:
            root = MemoryRoot(collection.path, writer_seconds=WRITER_SECONDS, opener=open_sources)
            report = store.sync_root(root, analyzer)
            if report.removed or report.changed:  # whoever answers next makes it anew, without what went
                snapshot_path(store.path).unlink(missing_ok=True)
    finally:
        analyzer.close()
    skipped = [f"{line.file}:{line.line}: {line.reason}" for line in report.skipped]
    warnings = (*skipped, *report.warnings)
    return Counts(report.added, report.changed, report.unchanged, report.removed, warnings)


def _embed_some(call: Call, collections: list[Collection]) -> None:
    from pi_rank.qmd.commands.embedding_run import embed

    started = time.monotonic()
    done = embed(call, collections, started + UPDATE_EMBED_SECONDS)
    if done.embedded:
        call.line(f"\nEmbedded {done.embedded} passages in {time.monotonic() - started:.1f} s")
    if done.busy:
        call.note(done.busy)
    elif done.left:
        call.line(f"\nRun 'qmd embed' to update embeddings ({done.left} unique hashes need vectors)")
