"""A few engines that stay open between commands, each lent to one command at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pi_rank.engine import MemoryEngine
from pi_rank.store.store import default_store_path

MOST_ENGINES = 4


class _Key(NamedTuple):
    root: Path
    store: Path
    model: str | None


class Engines:
    """At most `MOST_ENGINES`; the one that was not asked for longest goes first. For one thread."""

    def __init__(self) -> None:
        self._open: OrderedDict[_Key, tuple[MemoryEngine, tuple[int, int]]] = OrderedDict()

    @contextmanager
    def opened(self, root: Path, store: str | None, model: str | None) -> Iterator[MemoryEngine]:
        """An engine as `MemoryEngine.open` gives it; it stays open where it is in order.

        :raises PiRankError: as `MemoryEngine.open`.
        """
        if store is not None and not Path(store).is_absolute():  # the next command is somewhere else
            with MemoryEngine.open(root, store=store, model=model) as engine:
                yield engine
            return
        key = _Key(root.absolute(), default_store_path(root) if store is None else Path(store), model)
        engine = self._kept(key) or MemoryEngine.open(root, store=key.store, model=model)
        engine.look_again()
        try:
            yield engine
        except BaseException:
            engine.close()
            raise
        if not engine.is_sound:
            engine.close()
            return
        self._open[key] = engine, _identity(key.store)
        while len(self._open) > MOST_ENGINES:
            self._open.popitem(last=False)[1][0].close()

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1][0].close()

    def _kept(self, key: _Key) -> MemoryEngine | None:
        """The engine that is open on the very file that lies there now."""
        engine, identity = self._open.pop(key, (None, None))
        if engine is None or (identity == _identity(key.store) and key.root.is_dir()):
            return engine
        engine.close()
        return None


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
