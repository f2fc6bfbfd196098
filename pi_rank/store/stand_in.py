"""What turns are answered from while a store cannot be used: the memory files, in a store of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.store.places import STORE_NAME
from pi_rank.store.schema import DamagedStoreError, ForeignFileError
from pi_rank.store.store import MemoryStore, open_store


class StandIn(MemoryStore):
    """A store in a temporary folder, which goes when it is closed. It has no vectors.

    :param place: of the store that it stands in for.
    :param error: why that one cannot be used; raised again where nothing else will do.
    """

    def __init__(self, place: Path, error: StoreError) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pi-rank-")
        try:
            super().__init__(Path(self._folder.name, STORE_NAME), read_only=False)
        except BaseException:
            self._folder.cleanup()
            raise
        self._place = place
        self._seen = _signature(place)
        self.error = error

    @property
    def place(self) -> Path:
        """Where the real store is."""
        return self._place

    def real_store(self) -> MemoryStore | None:
        """The store that this stands in for, where its file is another one now and can be used; else None.

        :raises StoreError: it cannot be opened for another reason.
        """
        now = _signature(self._place)
        if now is None or now == self._seen:  # while it is being replaced there is none
            return None
        self._seen = now
        try:
            store = open_store(self._place)
        except (DamagedStoreError, StoreVersionError):
            return None
        if store.generation == 0:  # just made, and to be filled by whoever makes it
            store.close()
            self._seen = None
            return None
        return store

    def require(self) -> None:
        """
        :raises StoreError: always.
        """
        raise self.error

    def close(self) -> None:
        """Close the store and remove it. Closing twice is harmless."""
        super().close()
        self._folder.cleanup()


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def open_for_turns(path: Path) -> MemoryStore:
    """The store at `path`, or a stand-in while it is damaged or of another version.

    :raises StoreError: as `pi_rank.store.store.open_store`, for any other reason.
    """
    try:
        return open_store(path)
    except ForeignFileError:
        raise
    except (DamagedStoreError, StoreVersionError) as error:
        return StandIn(path, error)


def trouble_of(store: MemoryStore) -> tuple[str, ...]:
    """What every turn has to say of a store that stands in for another."""
    if not isinstance(store, StandIn):
        return ()
    return (f"{store.error}. Until then answered from the memory files, by words alone",)
