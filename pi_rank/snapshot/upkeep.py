"""Keeps store and snapshot of one memory in step with its files, and turns answered where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.results import SyncReport
from pi_rank.snapshot.keeper import SnapshotKeeper
from pi_rank.store.rebuild import known_files, rebuild
from pi_rank.store.schema import DamagedStoreError
from pi_rank.store.stand_in import StandIn, open_for_turns, trouble_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_rank.memory.contents import RootContents
    from pi_rank.memory.root import MemoryRoot
    from pi_rank.store.model_change import StoreModels
    from pi_rank.store.store import MemoryStore

    Progress = Callable[[int, int], None]

TURN_PATIENCE = 2.0  # seconds that a turn waits for another process that holds the store


class Upkeep:
    """The half of an engine that writes."""

    def __init__(self, root: MemoryRoot, store: MemoryStore, models: StoreModels) -> None:
        self._root = root
        self._store = store
        self._models = models
        self._analyzer = FtsAnalyzer()
        self._keeper = SnapshotKeeper(store)
        self._trouble: tuple[str, ...] = ()  # why the last turn's sync did not come about

    @property
    def trouble(self) -> tuple[str, ...]:
        """Why answers come from an earlier state, or from the memory files alone; else nothing."""
        return self._trouble or trouble_of(self._store)

    def sync(self, *, progress: Progress | None = None) -> SyncReport:
        """Brings the store up to date with the memory files, and embeds the texts that are new.

        Records come first, in one transaction; vectors follow in chunks that stay if the rest is interrupted.

        :param progress: called with (texts embedded, texts to embed).
        :raises MemoryRootError: the root cannot be read.
        :raises StoreError: the store cannot be written; it is as it was.
        """
        self._store.require()
        report = self._store.sync_root(self._root, self._analyzer)
        self._trouble = ()
        return self._completed(report, progress)

    def catch_up(self, *, deadline_ms: float | None = None, progress: Progress | None = None) -> SyncReport:
        """As `sync`, for a turn that is to be answered whatever becomes of it: from what can be read.

        Where the store is held by another process or cannot be written, that is its last generation; where it
        is damaged, the memory files, by words alone, until it has been rebuilt. Turns say so in
        `stats["warnings"]`, and `trouble` does.

        :param deadline_ms: milliseconds to wait for another process that holds the store; at most, and by
            default, two seconds.
        :raises MemoryRootError: the root cannot be read.
        """
        longest = TURN_PATIENCE if deadline_ms is None else min(TURN_PATIENCE, deadline_ms / 1000)
        try:
            self._take_back()
            report = self._store.sync_root(self._root, self._analyzer, patience=longest)
            if isinstance(self._store, StandIn):
                return report
            report = self._completed(report, progress)
        except StoreError as error:
            return self._without_sync(error)
        self._trouble = ()
        return report

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """As `sync`, but takes every record in anew; vectors of texts that are still there are kept.

        A damaged store is moved aside and made anew; until that is done, turns are served by what is in
        memory.

        :raises StoreError: the store cannot be written, or a damaged one not replaced.
        """
        contents = self._root.read(known_files(self._store.place))
        try:
            self._store.require()
            self._store.verify()
            report = self._store.replace(contents, self._analyzer)
        except (DamagedStoreError, StoreVersionError):
            report = self._replace_store(contents)
        self._trouble = ()
        return self._completed(report, progress)

    def use_model(self, model: str, *, progress: Progress | None = None) -> int:
        """Changes the store's model; how many texts were embedded. Until all are, the old model answers.

        Interrupted, the change goes on where it stopped when this is called again, or in the background of
        any engine that is opened on the store without a model of its own and synced.

        :param model: "default", a model card's id or path, or a sentence-transformers name or folder.
        :param progress: called with (texts embedded, texts to embed).
        :raises ModelError: the model cannot be loaded or run; the old one goes on answering.
        """
        self._store.require()
        self._store.sync_root(self._root, self._analyzer)
        embedded = self._models.use(model, progress)
        self._keeper.save(self._models.queries.model_id, changed=True)
        return embedded

    def _completed(self, report: SyncReport, progress: Progress | None) -> SyncReport:
        """The vectors that a sync leaves to be made, and the files for the next start."""
        embedded = self._models.embed(progress)
        changed = bool(report.added or report.changed or report.removed or embedded)
        self._keeper.save(self._models.queries.model_id, changed=changed)
        warnings = (*report.warnings, *self._root.keep_config())
        return msgspec.structs.replace(report, embedded=embedded, warnings=warnings)

    def _replace_store(self, contents: RootContents) -> SyncReport:
        path, old = self._store.place, self._keeper
        old.freeze()
        self._models.pause()
        self._store.close()  # an open file cannot be replaced on Windows
        try:
            return rebuild(path, contents, self._analyzer)
        finally:
            self._store = open_for_turns(path)
            self._keeper = SnapshotKeeper(self._store)
            self._models.resume(self._store)
            old.close()

    def _without_sync(self, error: StoreError) -> SyncReport:
        """Goes on with what can be read, and remembers what turns have to say of it."""
        if isinstance(self._store, StandIn):
            raise error
        try:
            usable = not isinstance(error, DamagedStoreError) and self._store.generation > 0
        except StoreError:
            usable = False
        if usable:
            self._trouble = (f"{error}. Answered from what the store held before",)
            return SyncReport(generation=self._store.generation, warnings=self._trouble)
        return self._stand_in(error)

    def _take_back(self) -> None:
        """Goes back to the store itself, where it has been rebuilt while another one stood in for it."""
        if isinstance(self._store, StandIn) and (store := self._store.real_store()) is not None:
            self._serve_from(store)

    def _stand_in(self, error: StoreError) -> SyncReport:
        store = StandIn(self._store.place, error)
        report = store.sync_root(self._root, self._analyzer)
        self._serve_from(store)
        self._trouble = ()
        return report

    def _serve_from(self, store: MemoryStore) -> None:
        old, keeper = self._store, self._keeper
        keeper.freeze()
        self._models.pause()
        old.close()
        self._store, self._keeper = store, SnapshotKeeper(store)
        self._models.resume(store)
        keeper.close()
