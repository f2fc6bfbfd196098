"""The snapshot's file: equal to a build from nothing, of whatever generation, or ignored, and said so."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pi_rank.memory.records import decode_record, text_hash
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.array_file import CacheMismatch
from pi_rank.ranking.semantic import VectorIndex
from pi_rank.snapshot import saved as saved_snapshot
from pi_rank.snapshot.file import model_in, read_snapshot, snapshot_path, write_snapshot
from pi_rank.snapshot.graph_keeper import graph_key
from pi_rank.snapshot.saved import SavedSnapshot
from pi_rank.snapshot.snapshot import load_snapshot, refresh_snapshot
from tests.support.snapshots import ANALYZER, EMBEDDER, ChangingMemory, answers

MODEL = EMBEDDER.model_id
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_snapshot, "MIN_ROWS", 100)
    memory = ChangingMemory(tmp_path)
    memory.sync()
    yield memory
    memory.store.close()


def saved_of(memory):
    told = []
    return SavedSnapshot(memory.store, told.append), told


def from_nothing(memory, model_id=MODEL):
    return answers(load_snapshot(memory.store, model_id))


@pytest.mark.parametrize("model_id", [MODEL, None])
def test_what_is_written_is_read(memory, model_id):
    snapshot = load_snapshot(memory.store, MODEL)
    for step in (10, 30):  # rows die, which the file leaves out, and vectors come
        memory.change(step)
        memory.sync()
        snapshot = refresh_snapshot(snapshot, memory.store, MODEL)
    path = snapshot_path(memory.store.path)
    write_snapshot(snapshot, path, memory.store.uuid)
    read = read_snapshot(path, memory.store.uuid, model_id)
    assert answers(read) == from_nothing(memory, model_id)
    live = np.flatnonzero(snapshot.live).tolist()
    assert (read.version, read.ids) == (snapshot.version, [snapshot.ids[row] for row in live])
    assert len(live) < len(snapshot.ids)
    assert np.array_equal(read.rowids, snapshot.rowids[live])
    memory.change(20)
    memory.sync()
    assert answers(refresh_snapshot(read, memory.store, model_id)) == from_nothing(memory, model_id)


def test_where_a_graph_is_kept_vectors_keep_their_places(memory, monkeypatch):
    """A graph of many vectors is not built again for one record that went; the record's vector is gone."""
    monkeypatch.setattr(VectorIndex, "wants_graph", property(lambda self: True))
    before = load_snapshot(memory.store, MODEL)
    gone = next(id_ for id_, record in memory.records.items() if record["status"] == "active")
    record = memory.records.pop(gone)
    text = text_hash(
        decode_record(json.dumps(record | {"statement": (words := "seven odd words nobody else has")}))
    )
    memory.records[gone] = record | {"statement": words}
    memory.sync()
    before = refresh_snapshot(before, memory.store, MODEL)
    del memory.records[gone]
    memory.sync()
    after = refresh_snapshot(before, memory.store, MODEL)
    path = snapshot_path(memory.store.path)
    write_snapshot(after, path, memory.store.uuid)
    read = read_snapshot(path, memory.store.uuid, MODEL)
    count = len(before.node_text)
    assert graph_key(read, count) == graph_key(before, count)
    assert answers(read) == from_nothing(memory)
    node = before.text_node[before.books.texts.get(text)]
    held = before.vectors.vectors(node, node + 1)
    assert held.tobytes() not in path.read_bytes()
    memory.records[gone] = record | {"statement": words}  # it comes back, and has a vector again
    memory.sync()
    again = refresh_snapshot(read, memory.store, MODEL)
    assert answers(again) == from_nothing(memory)
    node = again.text_node[again.books.texts.get(text)]
    assert node >= count
    assert np.array_equal(again.vectors.vectors(node, node + 1), held)


def test_when_many_are_gone_their_places_go_too(memory, monkeypatch):
    monkeypatch.setattr(VectorIndex, "wants_graph", property(lambda self: True))
    snapshot = load_snapshot(memory.store, MODEL)
    for id_ in list(memory.records)[:120]:
        del memory.records[id_]
    memory.sync()
    snapshot = refresh_snapshot(snapshot, memory.store, MODEL)
    path = snapshot_path(memory.store.path)
    write_snapshot(snapshot, path, memory.store.uuid)
    read = read_snapshot(path, memory.store.uuid, MODEL)
    assert answers(read) == from_nothing(memory)
    assert len(read.node_text) == len(load_snapshot(memory.store, MODEL).node_text) < len(snapshot.node_text)


def test_a_file_knows_whether_it_holds_what_went(memory):
    saved, _ = saved_of(memory)
    snapshot = load_snapshot(memory.store, MODEL)
    assert not saved.holds_gone(snapshot)  # there is no file
    saved.save(snapshot)
    assert not saved.holds_gone(snapshot)
    memory.add(3)
    memory.sync()
    later = refresh_snapshot(snapshot, memory.store, MODEL)
    assert not saved.holds_gone(later)
    del memory.records[sorted(memory.records)[0]]
    memory.sync()
    later = refresh_snapshot(later, memory.store, MODEL)
    assert saved.holds_gone(later)
    again, _ = saved_of(memory)
    assert again.holds_gone(again.load(MODEL))
    again.forget_gone(refresh_snapshot(later, memory.store, None))
    assert not again.holds_gone(later)
    assert model_in(again.path, memory.store.uuid) == MODEL  # who has no model takes no vectors away
    assert answers(read_snapshot(again.path, memory.store.uuid, MODEL)) == from_nothing(memory)


def test_what_went_does_not_stay_where_the_file_cannot_be_written(memory, monkeypatch):
    saved, _ = saved_of(memory)
    snapshot = load_snapshot(memory.store, MODEL)
    saved.save(snapshot)

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(saved_snapshot, "write_snapshot", full)
    saved.forget_gone(snapshot)
    assert not saved.path.exists()


@pytest.mark.parametrize("how", ["cut short", "emptied", "overwritten", "grown"])
def test_a_file_that_is_changed_in_place_changes_nothing_for_who_has_read_it(memory, how):
    path = snapshot_path(memory.store.path)
    write_snapshot(load_snapshot(memory.store, MODEL), path, memory.store.uuid)
    program = """
import sys
from pathlib import Path
from pi_rank.snapshot.file import read_snapshot
from tests.support.snapshots import answers
snapshot = read_snapshot(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
print("read", flush=True)
sys.stdin.read()
print(len(answers(snapshot)["records"]), bool(snapshot.phrases), len(snapshot.lexical.vocabulary()) > 0)
"""
    asking = subprocess.Popen(
        [sys.executable, "-c", program, path, memory.store.uuid, MODEL],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": REPOSITORY},
    )
    assert asking.stdout.readline() == "read\n"
    size = path.stat().st_size
    with path.open("r+b") as file:
        if how == "overwritten":
            file.write(random.Random(1).randbytes(size))
        else:
            file.truncate({"cut short": 1000, "emptied": 0, "grown": 2 * size}[how])
    said, _ = asking.communicate("", timeout=60)
    assert (asking.returncode, said) == (0, "200 True True\n")


def test_an_empty_store_can_be_kept(tmp_path):
    memory = ChangingMemory(tmp_path, size=0)
    path = tmp_path / "kept"
    write_snapshot(load_snapshot(memory.store, None), path, "uuid")
    read = read_snapshot(path, "uuid", None)
    assert answers(read) == from_nothing(memory, None)
    memory.add(5)
    memory.sync()
    assert answers(refresh_snapshot(read, memory.store, None)) == from_nothing(memory, None)
    memory.store.close()


def test_a_file_of_another_store_is_refused(memory, tmp_path):
    write_snapshot(load_snapshot(memory.store, None), tmp_path / "kept", "another")
    with pytest.raises(CacheMismatch, match="another"):
        read_snapshot(tmp_path / "kept", memory.store.uuid, None)


def test_a_file_of_an_earlier_generation_is_brought_up_to_date(memory):
    saved, _ = saved_of(memory)
    saved.save(load_snapshot(memory.store, MODEL))
    for _ in range(3):
        memory.change(15)
        memory.sync()
    again, told = saved_of(memory)
    assert answers(again.load(MODEL)) == from_nothing(memory)
    assert told == []


def test_nothing_is_said_where_there_is_no_file(memory):
    saved, told = saved_of(memory)
    assert saved.load(MODEL) is None
    assert told == []


def test_a_damaged_file_is_said_and_removed(memory):
    chance = random.Random(5)
    saved, _ = saved_of(memory)
    saved.save(load_snapshot(memory.store, MODEL))
    whole = saved.path.read_bytes()
    for number in range(40):
        at = chance.randrange(len(whole))
        cut = number % 2
        saved.path.write_bytes(whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        reader, told = saved_of(memory)
        assert reader.load(MODEL) is None
        assert len(told) == 1
        assert str(saved.path) in told[0]
        assert not saved.path.exists()


def test_a_file_from_before_a_rebuild_is_void(memory):
    saved, _ = saved_of(memory)
    saved.save(load_snapshot(memory.store, MODEL))
    memory.change(10)
    memory.store.replace(MemoryRoot(memory.root).read(), ANALYZER)
    again, told = saved_of(memory)
    assert answers(again.load(MODEL)) == from_nothing(memory)
    assert "no longer tells the changes" in told[0]


def test_the_file_is_written_when_enough_has_changed(memory, monkeypatch):
    monkeypatch.setattr(saved_snapshot, "MAX_LAG", 0.1)
    saved, _ = saved_of(memory)
    snapshot = load_snapshot(memory.store, MODEL)
    saved.save(snapshot)
    first = saved.path.stat().st_mtime_ns
    memory.change(1)
    memory.sync()
    saved.save(snapshot := refresh_snapshot(snapshot, memory.store, MODEL))
    assert saved.path.stat().st_mtime_ns == first
    memory.change(10)
    memory.sync()
    saved.save(snapshot := refresh_snapshot(snapshot, memory.store, MODEL))
    second = saved.path.stat().st_mtime_ns
    assert second > first
    saved.save(
        refresh_snapshot(snapshot, memory.store, None)
    )  # a user without a model loses nobody's vectors
    assert saved.path.stat().st_mtime_ns == second
    assert model_in(saved.path, memory.store.uuid) == MODEL


def test_a_small_store_has_no_file(tmp_path):
    memory = ChangingMemory(tmp_path, size=50)
    memory.sync()
    saved, _ = saved_of(memory)
    saved.save(load_snapshot(memory.store, MODEL))
    assert not saved.path.exists()
    memory.store.close()


def test_a_file_that_cannot_be_written_is_only_warned_of(memory, caplog):
    saved, _ = saved_of(memory)
    saved.path.mkdir()
    saved.save(load_snapshot(memory.store, MODEL))
    assert "was not written" in caplog.text
    assert [path.name for path in saved.path.parent.glob("*.tmp")] == []
