"""A snapshot brought up to date is the snapshot that is built from nothing."""

from __future__ import annotations

import logging
import sqlite3
import time

import numpy as np
import pytest

from benchmarks.corpus import Corpus
from pi_rank.memory.root import MemoryRoot
from pi_rank.snapshot.columns import STATUS_NAMES
from pi_rank.snapshot.snapshot import MIN_DEAD_ROWS, load_snapshot, refresh_snapshot
from pi_rank.store.store import MemoryStore
from tests.support.memory import write_root
from tests.support.snapshots import ANALYZER, EMBEDDER, ChangingMemory, answers

MODEL = EMBEDDER.model_id


@pytest.fixture
def memory(tmp_path):
    memory = ChangingMemory(tmp_path)
    memory.sync()
    yield memory
    memory.store.close()


def test_a_refreshed_snapshot_answers_as_one_from_nothing(memory):
    snapshot = load_snapshot(memory.store, MODEL)
    for step in range(12):
        memory.change(1 + 3 * step)
        memory.sync(embed=step % 3 != 0)
        snapshot = refresh_snapshot(snapshot, memory.store, MODEL)
        assert answers(snapshot) == answers(load_snapshot(memory.store, MODEL))
        assert snapshot.version == memory.store.version()
    assert snapshot.live_count == 200 < len(snapshot.ids)


def test_statuses_are_those_of_the_live_rows_and_unknown_ids_are_left_out(memory):
    before = load_snapshot(memory.store, MODEL)
    memory.change(50)
    memory.sync()
    snapshot = refresh_snapshot(before, memory.store, MODEL)
    codes = snapshot.columns.status
    expected = {snapshot.ids[row]: STATUS_NAMES[codes[row]] for row in snapshot.order.tolist()}
    assert snapshot.statuses(["no such record", *reversed(expected)]) == expected
    assert len(set(expected.values())) > 1
    assert snapshot.statuses([]) == {}


def test_an_earlier_snapshot_does_not_change(memory):
    before = load_snapshot(memory.store, MODEL)
    expected = answers(before)
    memory.change(50)
    memory.sync()
    refresh_snapshot(before, memory.store, MODEL)
    assert answers(before) == expected


def test_a_replaced_store_is_read_from_nothing(memory):
    before = load_snapshot(memory.store, MODEL)
    memory.store.replace(MemoryRoot(memory.root).read(), ANALYZER)
    snapshot = refresh_snapshot(before, memory.store, MODEL)
    assert answers(snapshot) == answers(before)
    assert (len(snapshot.ids), snapshot.version.generation) == (200, 3)
    assert snapshot.books is not before.books


def test_another_model_takes_over_the_records(memory):
    without = load_snapshot(memory.store, None)
    assert without.vectors is None
    with_vectors = refresh_snapshot(without, memory.store, MODEL)
    assert with_vectors.payloads is without.payloads
    assert answers(with_vectors) == answers(load_snapshot(memory.store, MODEL))
    assert refresh_snapshot(with_vectors, memory.store, "another").vectors is None
    assert answers(refresh_snapshot(with_vectors, memory.store, None)) == answers(without)


def test_records_with_one_text_share_a_vector(tmp_path):
    memory = ChangingMemory(tmp_path, size=0)
    for number in range(3):
        memory.records[f"mem_{number}"] = {"id": f"mem_{number}", "statement": "run the tests"}
    memory.records["mem_9"] = {"id": "mem_9", "statement": "deploy on tuesday"}
    memory.sync()
    snapshot = load_snapshot(memory.store, MODEL)
    assert snapshot.vectors.count == len(snapshot.node_text) == 2
    names = snapshot.books.texts.names()
    for row in range(4):
        node = snapshot.vectors.row_node[row]
        assert snapshot.node_text[node] == snapshot.columns.text[row]
        assert names[snapshot.node_text[node]] == memory.store.rows().added[row].text_hash
    memory.store.close()


def test_an_empty_store(tmp_path):
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        snapshot = load_snapshot(store, MODEL)
        assert (snapshot.live_count, snapshot.vectors, snapshot.crowded) == (0, None, False)
        assert refresh_snapshot(snapshot, store, MODEL).ids == []
        assert answers(snapshot)["records"] == {}


def test_a_vector_altered_on_the_disk_is_left_out_and_said(memory, caplog):
    connection = sqlite3.connect(memory.store.path)
    lost, text_hash = connection.execute("SELECT id, text_hash FROM records WHERE active LIMIT 1").fetchone()
    connection.execute(
        "UPDATE vectors SET vector = ? WHERE text_hash = ?",
        (np.full(32, np.nan, "<f4").tobytes(), text_hash),
    )
    connection.commit()
    connection.close()
    with caplog.at_level(logging.WARNING, "pi_rank"):
        snapshot = load_snapshot(memory.store, MODEL)
    assert "1 stored vectors are damaged and left out" in caplog.text
    row = snapshot.ids.index(lost)
    assert snapshot.vectors.row_node[row] == -1
    assert snapshot.vectors.count == memory.store.vector_counts()[MODEL] - 1


def test_dead_rows_crowd_it_past_a_share_and_a_number(tmp_path):
    memory = ChangingMemory(tmp_path, size=MIN_DEAD_ROWS + 1)
    memory.sync(embed=False)
    snapshot = load_snapshot(memory.store, None)
    for id_ in list(memory.records):
        memory.records[id_] |= {"statement": "deploy"}
    memory.sync(embed=False)
    crowded = refresh_snapshot(snapshot, memory.store, None)
    assert (snapshot.crowded, crowded.crowded) == (False, True)
    assert not load_snapshot(memory.store, None).crowded
    memory.store.close()


def test_a_changed_record_costs_a_fraction_of_a_load(tmp_path):
    """100,000 records: 5 ms of process time against 1,100 where this was measured."""
    root = Corpus(seed=3, size=20_000).write(tmp_path / "root")
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        store.sync_root(MemoryRoot(root), ANALYZER)
        load, snapshot = cpu_seconds(lambda: load_snapshot(store, None), 2)
        path = root / "memory" / "L2.playbooks.jsonl"
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        path.write_text(
            first.replace('"statement": "', '"statement": "changed ') + "\n" + rest, encoding="utf-8"
        )
        assert store.sync_root(MemoryRoot(root), ANALYZER).changed == 1
        refresh, refreshed = cpu_seconds(lambda: refresh_snapshot(snapshot, store, None), 5)
    assert len(refreshed.ids) == 20_001
    print(f"refresh {refresh * 1000:.1f} ms, load {load * 1000:.0f} ms")
    assert refresh <= load / 10


def cpu_seconds(run, times):
    """The least process time that a run took, and its result."""
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        result = run()
        best = min(best, time.process_time() - began)
    return best, result


def test_a_record_is_decoded_whole(tmp_path):
    root = write_root(tmp_path / "root", [{"id": "mem_a", "statement": "run", "custom": [1, 2]}], ["mem_a"])
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        store.sync_root(MemoryRoot(root), ANALYZER)
        snapshot = load_snapshot(store, None)
    assert (snapshot.record(0).id, snapshot.record(0).statement) == ("mem_a", "run")
    assert snapshot.record(0).extra == {"custom": [1, 2]}
    assert snapshot.is_tombstoned(0)
    assert not snapshot.active.any()
