"""Gets the HNSW graph that an index wants, from a file or by building it in the background, and keeps it."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from pi_rank.errors import StoreError
from pi_rank.ranking.graphs.builder import GraphBuilder
from pi_rank.ranking.graphs.file import GraphKey, load_graph, save_graph
from pi_rank.ranking.graphs.hnsw import can_build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_rank.ranking.graphs.graph import Graph
    from pi_rank.ranking.graphs.hnsw import BuildReport
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.store.store import MemoryStore

# After a build whose recall fell short, the next is tried when there are this many times as many vectors.
RETRY_GROWTH = 2
NO_HNSWLIB = "hnswlib is not installed, the exact scan serves (pip install 'pi-rank[hnsw]')"

_log = logging.getLogger("pi_rank")


class GraphKeeper:
    """One graph at a time is on its way, and a turn never waits for it.

    Files lie beside the store, `STORE.MODEL.COUNT.graph`: one for each model, over its first COUNT vectors.

    :param attach: called in another thread with the snapshot that a graph was made for, and the graph.
    :param tell: called with a sentence where a file was there and could not be used.
    """

    def __init__(
        self, store: MemoryStore, attach: Callable[[Snapshot, Graph], None], tell: Callable[[str], None]
    ) -> None:
        self._store = store
        self._attach = attach
        self._tell = tell
        self._lock = threading.Lock()
        self._seen: Snapshot | None = None
        self._source: Snapshot | None = None  # what a graph is on its way for
        self._closed = False
        self._loader: threading.Thread | None = None
        self._builder: GraphBuilder | None = None
        self._too_few = 0

    def tend(self, snapshot: Snapshot) -> None:
        """Starts what the snapshot now served lacks, and stops what is made for vectors no longer served."""
        if snapshot is self._seen:
            return
        with self._lock:
            self._seen = snapshot
            if self._source is not None and not same_nodes(self._source, snapshot):
                self._cancel()
            if self._closed or self._source is not None or not self._is_wanted(snapshot):
                return
            self._source = snapshot
            # No daemon: what it starts must be stopped before Python goes; loading takes no second.
            self._loader = threading.Thread(target=self._obtain, args=(snapshot,), name="pi-rank-graph-file")
            self._loader.start()

    def state(self, snapshot: Snapshot) -> str:
        """In words, whether the snapshot's vectors have a graph, or a file with one, and if not, why."""
        vectors = snapshot.vectors
        if vectors is None or not (vectors.wants_graph or vectors.graph):
            return "none: the exact scan is cheaper"
        kept = [count for count, _ in self._files(snapshot) if count <= vectors.count]
        known = max([*kept, vectors.graph.count if vectors.graph else 0])
        if known:
            return f"of {known} of {vectors.count} vectors"
        return "none yet" if can_build() else f"none: {NO_HNSWLIB}"

    def close(self) -> None:
        """Stops what is under way and waits until it has stopped. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._seen = None
            self._cancel()
            loader, builder = self._loader, self._builder
        if loader is not None:
            loader.join()
        if builder is not None:
            _wait(builder)

    def _cancel(self) -> None:
        self._source = None
        if self._builder is not None:
            self._builder.cancel()

    def _is_wanted(self, snapshot: Snapshot) -> bool:
        vectors = snapshot.vectors
        return vectors is not None and vectors.count >= self._too_few and vectors.wants_graph

    def _obtain(self, snapshot: Snapshot) -> None:
        assert snapshot.vectors is not None
        graph = self._read(snapshot)
        if graph is not None:
            self._attach(snapshot, graph)
        if graph is None or snapshot.vectors.with_graph(graph).wants_graph:
            self._build(snapshot)
        else:
            self._finish(snapshot)

    def _build(self, snapshot: Snapshot) -> None:
        assert snapshot.vectors is not None
        if not can_build():
            _log.info("no graph: %s", NO_HNSWLIB)
            self._too_few = sys.maxsize
            self._finish(snapshot)
            return
        with self._lock:
            if self._source is snapshot:
                self._builder = GraphBuilder(snapshot.vectors, lambda report: self._built(snapshot, report))
                self._builder.start()

    def _built(self, snapshot: Snapshot, report: BuildReport) -> None:
        if report.graph is None:
            _log.info("no graph: its recall of %.3f falls short, the exact scan serves", report.recall)
            self._too_few = len(snapshot.node_text) * RETRY_GROWTH
        else:
            self._attach(snapshot, report.graph)
            self._write(snapshot, report.graph)
        self._finish(snapshot)

    def _finish(self, snapshot: Snapshot) -> None:
        with self._lock:
            if self._source is snapshot:
                self._source = None

    def _read(self, snapshot: Snapshot) -> Graph | None:
        """The largest saved graph over the snapshot's first vectors."""
        assert snapshot.vectors is not None
        for count, path in self._files(snapshot):
            if count > snapshot.vectors.count:
                continue
            try:
                return load_graph(path, graph_key(snapshot, count), self._store.knows)
            except StoreError as error:
                self._tell(f"graph: {error}")
        return None

    def _write(self, snapshot: Snapshot, graph: Graph) -> None:
        path = self._store.path.with_name(f"{self._prefix(snapshot)}{graph.count}.graph")
        try:
            save_graph(graph, path, graph_key(snapshot, graph.count), snapshot.version.mark)
            for _, other in self._files(snapshot):
                if other != path:
                    other.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the graph is not kept: %s", error)

    def _files(self, snapshot: Snapshot) -> list[tuple[int, Path]]:
        """(count, path) of the model's files, the largest first."""
        prefix = self._prefix(snapshot)
        found = []
        for path in self._store.path.parent.glob("*.graph"):
            count = path.name.removeprefix(prefix).removesuffix(".graph")
            if path.name.startswith(prefix) and count.isdigit():
                found.append((int(count), path))
        return sorted(found, reverse=True)

    def _prefix(self, snapshot: Snapshot) -> str:
        model = hashlib.blake2b(str(snapshot.model_id).encode(), digest_size=8).hexdigest()
        return f"{self._store.path.name}.{model}."


def same_nodes(before: Snapshot, now: Snapshot) -> bool:
    """Whether the vectors of `now` begin with those of `before`."""
    nodes = now.node_text[: len(before.node_text)]
    return (
        before.model_id == now.model_id
        and before.books is now.books
        and np.array_equal(before.node_text, nodes)
    )


def graph_key(snapshot: Snapshot, count: int) -> GraphKey:
    """The key of a graph over the first `count` vectors, in whichever process has them in this order."""
    assert snapshot.vectors is not None
    names = snapshot.books.texts.names()
    digest = hashlib.blake2b(digest_size=32)
    digest.update(b"".join(names[code] for code in snapshot.node_text[:count].tolist()))
    return GraphKey(str(snapshot.model_id), snapshot.vectors.dimension, count, digest.hexdigest())


def _wait(builder: GraphBuilder) -> None:
    try:
        builder.join()
    except Exception:  # whatever hnswlib or the disk raised there: the exact scan has served all along
        _log.warning("building the graph failed", exc_info=True)
