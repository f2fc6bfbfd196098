"""Builds the HNSW graph of an index in the background, while the exact scan serves."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable

from pi_rank.ranking.graphs.hnsw import BuildReport, build_graph
from pi_rank.ranking.semantic import VectorIndex

EXIT_SECONDS = 10.0  # the most that a build, or what `on_done` does with it, delays the end of the process

_running: weakref.WeakSet[GraphBuilder] = weakref.WeakSet()


class GraphBuilder:
    """One build in one thread.

    builder = GraphBuilder(index, on_done=attach)
    builder.start()
    ...
    builder.cancel(); builder.join()      # a newer index replaces this one

    `on_done` is called in the builder's thread with the report of a build that was not cancelled; what it or
    the build raises is kept and raised by `join`. At exit of the process the build is cancelled and waited
    for, one chunk of vectors: a thread inside hnswlib while Python shuts down would end in a crash.
    """

    def __init__(
        self, index: VectorIndex, on_done: Callable[[BuildReport], None] | None = None, *, threads: int = 1
    ) -> None:
        self._index = index
        self._on_done = on_done
        self._threads = threads
        self._cancel = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="pi-rank-graph", daemon=True)
        self.report: BuildReport | None = None

    def start(self) -> None:
        """Begins the build. A builder is started once."""
        _running.add(self)
        self._thread.start()

    def cancel(self) -> None:
        """Asks the build to stop; returns at once."""
        self._cancel.set()

    def join(self, timeout: float | None = None) -> bool:
        """Waits `timeout` seconds at most; whether the build has ended. Raises what the build raised."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    @property
    def running(self) -> bool:
        """Whether the build has begun and not ended."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.report = build_graph(self._index, cancel=self._cancel, threads=self._threads)
            if self._on_done is not None and not self.report.cancelled:
                self._on_done(self.report)
        except Exception as error:  # raised by join, in the thread that can act on it
            self._error = error
        finally:
            _running.discard(self)


@atexit.register
def _stop_all() -> None:
    for builder in list(_running):
        builder.cancel()
        builder._thread.join(EXIT_SECONDS)
