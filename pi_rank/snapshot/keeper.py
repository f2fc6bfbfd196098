"""Keeps the current snapshot for all threads: read at the start, brought up to date, saved for later."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from pi_rank.errors import StoreError
from pi_rank.snapshot.graph_keeper import GraphKeeper, same_nodes
from pi_rank.snapshot.saved import SavedSnapshot
from pi_rank.snapshot.snapshot import Snapshot, load_snapshot, refresh_snapshot

if TYPE_CHECKING:
    from pi_rank.ranking.graphs.graph import Graph
    from pi_rank.store.store import MemoryStore

# A command that asks once or twice and ends would pay for a graph, or a compaction, and never gain by it.
LONG_LIVED = 3
# What went leaves the files so much later, or when the keeper closes: changes in a row share one writing.
FORGET_SECONDS = 10.0

_log = logging.getLogger("pi_rank")


class SnapshotKeeper:
    """The snapshot of one store, for any number of threads.

    keeper = SnapshotKeeper(store)
    snapshot = keeper.current(model_id)         # in each turn
    keeper.save(model_id, changed=True)         # after a sync
    keeper.close(); store.close()

    `rebuilt` says which files could not be used, and why; what was in them was made again from the store.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.rebuilt: list[str] = []
        self._store = store
        self._saved = SavedSnapshot(store, self._tell)
        self._graphs = GraphKeeper(store, self._attach, self._tell)
        self._snapshot: Snapshot | None = None
        self._refreshing = threading.Lock()
        self._asked = 0
        self._frozen = False
        self._writes = False
        self._compaction: threading.Thread | None = None
        self._closing = threading.Event()
        self._forgetting = threading.Lock()
        self._forgetter: threading.Thread | None = None

    def current(self, model_id: str | None) -> Snapshot:
        """The newest snapshot that can be had without waiting for another thread's refresh.

        Only where there is none yet to be served by does a thread wait for another one's.

        :param model_id: whose vectors to use; None for none.
        :raises StoreError: the store cannot be read.
        """
        snapshot = self._snapshot
        if snapshot is None:
            snapshot = self._newest(model_id)
        elif not self._is_current(snapshot, model_id):
            snapshot = self._refreshed(snapshot, model_id)
        self._asked += 1  # two threads may count as one: no exact number is wanted
        if self._asked >= LONG_LIVED and not self._frozen:
            self._tend(snapshot)
        return snapshot

    def save(self, model_id: str | None, *, changed: bool) -> None:
        """Writes the snapshot for the next process, where that pays. For syncs; never a part of a turn.

        :param changed: whether the sync changed anything.
        :raises StoreError: the store cannot be read.
        """
        self._writes = True
        if changed or self._snapshot is not None or not self._saved.path.exists():
            snapshot = self._newest(model_id)
            self._saved.save(snapshot)
            if self._is_to_forget():
                self._forget_later()

    def graph_state(self, snapshot: Snapshot) -> str:
        """In words, whether the snapshot's vectors have a graph."""
        return self._graphs.state(snapshot)

    def freeze(self) -> None:
        """From now on serves what is there and leaves the store alone, which is about to be replaced."""
        with self._refreshing:
            self._frozen = True
        self._end_forgetter()
        self._graphs.close()
        if self._compaction is not None:
            self._compaction.join()

    def close(self) -> None:
        """Ends what runs in the background. Closing twice is harmless; the store is left open.

        Where this keeper writes the file, nothing is left in it then of records that went.
        """
        self._end_forgetter()
        if self._writes and not self._frozen:
            self._forget_the_gone()
        self.freeze()
        self._snapshot = None

    def _forget_later(self) -> None:
        with self._forgetting:
            if self._forgetter is None and not self._closing.is_set():
                self._forgetter = threading.Thread(target=self._forget_in_time, name="pi-rank-forget")
                self._forgetter.start()

    def _forget_in_time(self) -> None:
        while not self._closing.wait(FORGET_SECONDS):
            self._forget_the_gone()
            with self._forgetting:  # whoever comes now starts the next one
                if not self._is_to_forget():
                    self._forgetter = None
                    return

    def _end_forgetter(self) -> None:
        self._closing.set()
        with self._forgetting:
            forgetter = self._forgetter
        if forgetter is not None:
            forgetter.join()

    def _is_to_forget(self) -> bool:
        return self._store.unfolded or self._holds_gone()

    def _holds_gone(self) -> bool:
        now = self._snapshot
        return now is not None and self._saved.holds_gone(now)

    def _forget_the_gone(self) -> None:
        try:
            gone = self._holds_gone()
            if gone and self._snapshot is not None:
                self._saved.forget_gone(self._newest(self._snapshot.model_id))
            self._store.fold_log(words=gone)
        except StoreError as error:
            _log.warning("records that went may still be in files beside %s: %s", self._store.path, error)
            self._saved.discard()

    def _is_current(self, snapshot: Snapshot, model_id: str | None) -> bool:
        try:
            return self._frozen or (
                snapshot.model_id == model_id and snapshot.version == self._store.version()
            )
        except StoreError:
            if self._frozen:  # since a moment ago, and the store is closed
                return True
            raise

    def _newest(self, model_id: str | None) -> Snapshot:
        """Up to date, whoever has to be waited for."""
        with self._refreshing:
            if self._snapshot is None:
                self._snapshot = self._saved.load(model_id) or load_snapshot(self._store, model_id)
            elif not self._is_current(self._snapshot, model_id):
                self._snapshot = refresh_snapshot(self._snapshot, self._store, model_id)
            return self._snapshot

    def _refreshed(self, snapshot: Snapshot, model_id: str | None) -> Snapshot:
        if not self._refreshing.acquire(blocking=False):
            return self._snapshot or snapshot
        try:
            snapshot = self._snapshot or snapshot
            if not self._is_current(snapshot, model_id):  # another thread may just have done it
                self._snapshot = snapshot = refresh_snapshot(snapshot, self._store, model_id)
            return snapshot
        finally:
            self._refreshing.release()

    def _tend(self, snapshot: Snapshot) -> None:
        if snapshot.crowded:
            self._compact()
        else:
            self._graphs.tend(snapshot)

    def _compact(self) -> None:
        """Begins a snapshot without the dead rows, which takes as long as a start without a file."""
        if not self._refreshing.acquire(blocking=False):
            return  # the next turn will do
        try:
            running = self._compaction is not None and self._compaction.is_alive()
            if not running and not self._frozen:
                self._compaction = threading.Thread(target=self._compacted, name="pi-rank-compaction")
                self._compaction.start()
        finally:
            self._refreshing.release()

    def _compacted(self) -> None:
        before = self._snapshot
        if before is None:
            return
        try:
            fresh = load_snapshot(self._store, before.model_id)
        except StoreError as error:  # the next turn meets it too, and can tell its caller
            _log.warning("the dead rows stay: %s", error)
            return
        with self._refreshing:
            if self._snapshot is not None and not self._frozen:
                self._snapshot = refresh_snapshot(fresh, self._store, self._snapshot.model_id)

    def _attach(self, source: Snapshot, graph: Graph) -> None:
        """Puts a graph over the vectors that it is of, if they are still served."""
        with self._refreshing:
            now = self._snapshot
            if now is not None and now.vectors is not None and same_nodes(source, now):
                self._snapshot = replace(now, vectors=now.vectors.with_graph(graph))

    def _tell(self, what: str) -> None:
        self.rebuilt.append(what)
        _log.info("rebuilt the %s", what)
