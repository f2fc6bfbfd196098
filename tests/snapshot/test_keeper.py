"""The keeper: every thread has a whole snapshot at once, refreshed, compacted and with its graph in time."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from pi_rank.errors import StoreError
from pi_rank.memory.records import embedded_text
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.graphs import builder as graph_builder
from pi_rank.ranking.graphs.hnsw import can_build
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.snapshot import graph_keeper, keeper
from pi_rank.snapshot import saved as saved_snapshot
from pi_rank.snapshot.keeper import LONG_LIVED, SnapshotKeeper
from pi_rank.snapshot.snapshot import load_snapshot, refresh_snapshot
from tests.support.graphs import NO_HNSWLIB
from tests.support.snapshots import ANALYZER, EMBEDDER, ChangingMemory, answers

MODEL = EMBEDDER.model_id
SECONDS = 60


@pytest.fixture
def memory(tmp_path):
    memory = ChangingMemory(tmp_path)
    memory.sync()
    yield memory
    memory.store.close()


@pytest.fixture
def keep(memory):
    """Makes keepers of the memory's store, and closes them."""
    made = []

    def make():
        made.append(SnapshotKeeper(memory.store))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def graphs_wanted(monkeypatch):
    """Every index wants a graph that does not know all its vectors, however few they are."""
    if not can_build():
        pytest.skip(NO_HNSWLIB)
    wants = property(lambda self: self.graph is None or self.graph.count < self.count)
    monkeypatch.setattr(VectorIndex, "wants_graph", wants)


def until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def served_with_graph(kept, count):
    def is_so():
        vectors = kept.current(MODEL).vectors
        return vectors.graph is not None and vectors.graph.count == count

    return is_so


def test_each_change_is_served_at_the_next_call(memory, keep):
    kept = keep()
    for _ in range(5):
        memory.change(7)
        memory.sync()
        snapshot = kept.current(MODEL)
        assert snapshot.version == memory.store.version()
        assert answers(snapshot) == answers(load_snapshot(memory.store, MODEL))
        assert kept.current(MODEL) is snapshot


def test_while_one_thread_refreshes_the_others_are_served(memory, keep, monkeypatch):
    kept = keep()
    before = kept.current(MODEL)
    memory.change(5)
    memory.sync()
    begun, go = threading.Event(), threading.Event()

    def slow(*arguments):
        begun.set()
        assert go.wait(SECONDS)
        return refresh_snapshot(*arguments)

    monkeypatch.setattr(keeper, "refresh_snapshot", slow)
    refreshing = threading.Thread(target=kept.current, args=(MODEL,))
    refreshing.start()
    assert begun.wait(SECONDS)
    assert kept.current(MODEL) is before
    go.set()
    refreshing.join()
    assert kept.current(MODEL).version == memory.store.version()


def test_the_first_calls_share_one_load(memory, keep, monkeypatch):
    loads = []

    def counted(*arguments):
        loads.append(threading.get_ident())
        time.sleep(0.05)
        return load_snapshot(*arguments)

    monkeypatch.setattr(keeper, "load_snapshot", counted)
    kept, served = keep(), []
    threads = [threading.Thread(target=lambda: served.append(kept.current(MODEL))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert served == [served[0]] * 4


def test_the_file_serves_the_next_keeper_and_a_damaged_one_is_said(memory, keep, monkeypatch, caplog):
    monkeypatch.setattr(saved_snapshot, "MIN_ROWS", 100)
    first = keep()
    first.save(MODEL, changed=True)
    path = memory.store.path.with_name("store.sqlite3.snapshot")
    assert path.exists()
    with monkeypatch.context() as patched:
        patched.setattr(keeper, "load_snapshot", lambda *_: pytest.fail("the file was not used"))
        second = keep()
        assert answers(second.current(MODEL)) == answers(first.current(MODEL))
    assert second.rebuilt == []
    path.write_bytes(path.read_bytes()[:-1])
    with caplog.at_level(logging.INFO, "pi_rank"):
        third = keep()
        assert answers(third.current(MODEL)) == answers(first.current(MODEL))
    assert len(third.rebuilt) == 1
    assert "snapshot" in third.rebuilt[0]
    assert "rebuilt the snapshot" in caplog.text
    keep().save(MODEL, changed=False)
    assert path.exists()


def test_a_sync_without_news_does_not_load_anything(memory, keep, monkeypatch):
    monkeypatch.setattr(saved_snapshot, "MIN_ROWS", 100)
    keep().save(MODEL, changed=True)
    monkeypatch.setattr(SnapshotKeeper, "_newest", lambda *_: pytest.fail("a snapshot was made"))
    keep().save(MODEL, changed=False)


def test_a_crowded_snapshot_is_compacted_beside_the_turns(memory, keep, monkeypatch):
    monkeypatch.setattr("pi_rank.snapshot.snapshot.MIN_DEAD_ROWS", 20)
    kept = keep()
    for _ in range(LONG_LIVED):
        kept.current(MODEL)
    memory.change(80)
    memory.sync()
    loader = threading.current_thread()
    with monkeypatch.context() as patched:
        patched.setattr(
            keeper,
            "load_snapshot",
            lambda *arguments: (
                load_snapshot(*arguments)
                if threading.current_thread() is not loader
                else pytest.fail("in a turn")
            ),
        )
        assert kept.current(MODEL).crowded
        until(lambda: not kept.current(MODEL).crowded)
    assert len(kept.current(MODEL).ids) == 200
    assert answers(kept.current(MODEL)) == answers(load_snapshot(memory.store, MODEL))


def test_a_compaction_that_cannot_read_the_store_is_warned_of(memory, keep, monkeypatch, caplog):
    monkeypatch.setattr("pi_rank.snapshot.snapshot.MIN_DEAD_ROWS", 20)
    kept = keep()
    for _ in range(LONG_LIVED):
        kept.current(MODEL)
    memory.change(80)
    memory.sync()

    def failing(*_):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(keeper, "load_snapshot", failing)
    assert kept.current(MODEL).crowded
    until(lambda: "the dead rows stay: the disk is gone" in caplog.text)
    assert kept.current(MODEL).live_count == 200


def test_a_graph_is_built_attached_and_kept(memory, keep, graphs_wanted):
    kept = keep()
    count = kept.current(MODEL).vectors.count
    until(served_with_graph(kept, count))
    kept.close()
    files = sorted(path.name for path in memory.store.path.parent.glob("*.graph"))
    assert len(files) == 1
    assert files[0].endswith(f".{count}.graph")


def test_a_kept_graph_is_loaded_and_newer_vectors_are_still_found(memory, keep, graphs_wanted, monkeypatch):
    first = keep()
    count = first.current(MODEL).vectors.count
    until(served_with_graph(first, count))
    first.close()
    memory.records["mem_new"] = {"id": "mem_new", "statement": "nothing else speaks of walruses"}
    memory.sync()
    monkeypatch.setattr(VectorIndex, "wants_graph", property(lambda self: self.graph is None))
    monkeypatch.setattr(graph_keeper, "GraphBuilder", lambda *_: pytest.fail("a graph was built"))
    second = keep()
    until(served_with_graph(second, count))
    assert second.rebuilt == []
    snapshot = second.current(MODEL)
    assert snapshot.vectors.count == count + 1
    row = snapshot.ids.index("mem_new")
    query = EMBEDDER.embed_query(embedded_text(snapshot.record(row)))
    hits = snapshot.vectors.search(query, 3, tie_rank=snapshot.tie_rank)
    assert hits.rows[0] == row


def test_a_larger_graph_takes_the_place_of_the_smaller(memory, keep, graphs_wanted):
    kept = keep()
    until(served_with_graph(kept, kept.current(MODEL).vectors.count))
    memory.add(30)
    memory.sync()
    grown = load_snapshot(memory.store, MODEL).vectors.count
    until(served_with_graph(kept, grown))
    kept.close()
    assert [path.name.split(".")[-2] for path in memory.store.path.parent.glob("*.graph")] == [str(grown)]


def test_a_damaged_graph_is_built_again_and_said(memory, keep, graphs_wanted):
    first = keep()
    count = first.current(MODEL).vectors.count
    until(served_with_graph(first, count))
    first.close()
    (path,) = memory.store.path.parent.glob("*.graph")
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    second = keep()
    until(served_with_graph(second, count))
    second.close()
    assert len(second.rebuilt) == 1
    assert "damaged" in second.rebuilt[0]
    assert path.read_bytes() == whole


def test_a_graph_of_other_texts_is_not_used(memory, keep, graphs_wanted):
    first = keep()
    until(served_with_graph(first, first.current(MODEL).vectors.count))
    first.close()
    del memory.records[first.current(MODEL).ids[0]]  # its vector goes, and all others move up by one
    memory.add(20)
    memory.sync()
    second = keep()
    until(served_with_graph(second, second.current(MODEL).vectors.count))
    assert len(second.rebuilt) == 1
    assert second.rebuilt[0].startswith("graph: ")


def test_close_stops_a_build(memory, keep, graphs_wanted, monkeypatch):
    begun = threading.Event()

    def endless(index, *, cancel, threads):
        begun.set()
        assert cancel.wait(SECONDS)
        return graph_builder.BuildReport(None, 0.0, cancelled=True)

    monkeypatch.setattr(graph_builder, "build_graph", endless)
    kept = keep()
    for _ in range(LONG_LIVED):
        kept.current(MODEL)
    assert begun.wait(SECONDS)
    began = time.monotonic()
    kept.close()
    assert time.monotonic() - began < SECONDS / 2
    kept.close()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("pi-rank-graph")] == []


def test_a_build_for_vectors_no_longer_served_is_stopped(memory, keep, graphs_wanted, monkeypatch):
    first, real = threading.Event(), graph_builder.build_graph

    def stuck_once(index, *, cancel, threads):
        if first.is_set():
            return real(index, cancel=cancel, threads=threads)
        first.set()
        assert cancel.wait(SECONDS)
        return graph_builder.BuildReport(None, 0.0, cancelled=True)

    monkeypatch.setattr(graph_builder, "build_graph", stuck_once)
    kept = keep()
    for _ in range(LONG_LIVED):
        kept.current(MODEL)
    assert first.wait(SECONDS)
    memory.store.replace(MemoryRoot(memory.root).read(), ANALYZER)
    until(served_with_graph(kept, load_snapshot(memory.store, MODEL).vectors.count))


def test_a_frozen_keeper_leaves_the_store_alone(memory, keep):
    kept = keep()
    before = kept.current(MODEL)
    kept.freeze()
    memory.store.close()
    assert kept.current(MODEL) is before
    kept.close()
    with pytest.raises(StoreError):
        kept.current(MODEL)
