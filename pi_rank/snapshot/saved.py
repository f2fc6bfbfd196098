"""When a store's snapshot file is read, believed, written and thrown away."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.ranking.array_file import CacheMismatch
from pi_rank.snapshot.file import model_in, read_snapshot, snapshot_path, write_snapshot
from pi_rank.snapshot.snapshot import Snapshot, refresh_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from pi_rank.store.store import MemoryStore

# Below this a start from SQLite takes less time than importing numpy does.
MIN_ROWS = 5_000
# Rows and vectors that have come and gone since the file was written, in relation to the rows in it: below
# this, taking them in costs little, and writing the file anew would cost hundreds of megabytes.
MAX_LAG = 0.02

_log = logging.getLogger("pi_rank")


class _Extent(NamedTuple):
    """How far a snapshot reaches. `rowids`: its live rows', ascending: what its file holds."""

    rows: int
    dead: int
    nodes: int
    model_id: str | None
    rowids: npt.NDArray[np.int64]


class SavedSnapshot:
    """The file that spares the next process a reading of the whole store.

    :param tell: called with a sentence where the file was there and could not be used.
    """

    def __init__(self, store: MemoryStore, tell: Callable[[str], None]) -> None:
        self.path = snapshot_path(store.path)
        self._store = store
        self._tell = tell
        self._saved: _Extent | None = None

    def load(self, model_id: str | None) -> Snapshot | None:
        """The store's present generation, from the file and what came since; None where it is of no use.

        :raises StoreError: the store cannot be read.
        """
        try:
            saved = read_snapshot(self.path, self._store.uuid, model_id)
        except CacheMismatch as error:
            if self.path.exists():
                self._tell(f"snapshot: {error}")
                self.discard()
            return None
        self._saved = _extent(saved)
        snapshot = refresh_snapshot(saved, self._store, model_id)
        if snapshot.books is not saved.books:
            self._saved = None
            self._tell(f"snapshot: {self.path} is of a time that the store no longer tells the changes since")
        return snapshot

    def save(self, snapshot: Snapshot) -> None:
        """Writes the file, if the store is large enough and has moved on enough for that to pay."""
        if snapshot.live_count >= MIN_ROWS and not snapshot.damaged and not self._reaches(snapshot):
            self.replace(snapshot)

    def _with_its_vectors(self) -> Snapshot | None:
        """The store's present generation with the vectors of the file: who has no model takes none away."""
        try:
            model_id = model_in(self.path, self._store.uuid)
            saved = read_snapshot(self.path, self._store.uuid, model_id)
        except CacheMismatch:
            return None
        return refresh_snapshot(saved, self._store, model_id)

    def replace(self, snapshot: Snapshot) -> bool:
        """Writes the file; where that fails, the next start reads the whole store. Whether it was written."""
        try:
            write_snapshot(snapshot, self.path, self._store.uuid)
        except OSError as error:
            _log.warning("%s was not written (%s): the next start reads the whole store", self.path, error)
            return False
        self._saved = _extent(snapshot)
        return True

    def holds_gone(self, snapshot: Snapshot) -> bool:
        """Whether the file holds rows that `snapshot`, a later one, has no more."""
        if self._saved is None:
            return self.path.exists()  # what is in it was of no use, and nobody knows what it is
        return not np.isin(self._saved.rowids, snapshot.rowids[snapshot.live], assume_unique=True).all()

    def forget_gone(self, snapshot: Snapshot) -> None:
        """Write the file without the rows that went; where that cannot be, there is none."""
        if snapshot.model_id is None:
            snapshot = self._with_its_vectors() or snapshot
        if snapshot.damaged or not self.replace(snapshot):
            self.discard()

    def _reaches(self, snapshot: Snapshot) -> bool:
        """Whether what is in the file is nearly `snapshot`."""
        saved, now = self._saved, _extent(snapshot)
        if saved is None or now.model_id not in (None, saved.model_id):
            return False
        nodes = now.nodes - saved.nodes if now.model_id else 0
        lag = abs(now.rows - saved.rows) + abs(now.dead - saved.dead) + abs(nodes)
        return lag <= MAX_LAG * saved.rows

    def discard(self) -> None:
        """Remove the file: a sync with nothing new, which does not read it, then sees that one is missing."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            _log.info("%s cannot be removed: %s", self.path, error)


def _extent(snapshot: Snapshot) -> _Extent:
    rows = len(snapshot.ids)
    live = snapshot.rowids[snapshot.live]
    return _Extent(rows, rows - snapshot.live_count, len(snapshot.node_text), snapshot.model_id, live)
