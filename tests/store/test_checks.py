"""Damage that SQLite's own check cannot see costs what it hit, is named, and is mended by a rebuild."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from pi_rank.errors import StoreError
from pi_rank.memory.root import MemoryRoot
from pi_rank.snapshot.snapshot import load_snapshot
from pi_rank.store.rebuild import rebuild
from pi_rank.store.store import MemoryStore
from tests.support.memory_files import L2, CountingAnalyzer, line, write

ANALYZER = CountingAnalyzer()
COUNT = 12


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root", L2, *(line(f"mem_{n}", statement=f"rule number {n}") for n in range(COUNT)))
    return MemoryRoot(tmp_path / "root")


@pytest.fixture
def path(tmp_path, root):
    path = tmp_path / "store.sqlite3"
    with MemoryStore.open(path) as store:
        store.sync_root(root, ANALYZER)
        hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
        store.put_vectors("m", hashes, np.eye(COUNT, dtype=np.float32))
        assert store.faults() == []
    return path


def run(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


def held(path):
    with MemoryStore.open(path) as store:
        snapshot = load_snapshot(store, "m")
        statements = {snapshot.ids[row]: snapshot.record(row).statement for row in snapshot.order}
        return statements, snapshot


WHOLE = {f"mem_{n}": f"rule number {n}" for n in range(COUNT)}
RECORDS = {
    "a bit of the payload": "UPDATE records SET payload = cast(replace(payload, 'ber 7', 'ber 3') AS blob)"
    " WHERE id = 'mem_7'",
    "a payload that is no record": "UPDATE records SET payload = x'7b7d' WHERE id = 'mem_7'",
    "no payload": "UPDATE records SET payload = x'' WHERE id = 'mem_7'",
    "a payload of another type": "UPDATE records SET payload = 7 WHERE id = 'mem_7'",
    "terms cut short": "UPDATE records SET terms = substr(terms, 1, length(terms) - 3) WHERE id = 'mem_7'",
    "terms that are no text": "UPDATE records SET terms = x'ffff' WHERE id = 'mem_7'",
    "another id": "UPDATE records SET id = 'mem_seven' WHERE id = 'mem_7'",
    "an id of another type": "UPDATE records SET id = x'ff' WHERE id = 'mem_7'",
    "no longer deleted": "UPDATE records SET tombstoned = 5 WHERE id = 'mem_7'",
    "no longer active": "UPDATE records SET active = 0 WHERE id = 'mem_7'",
    "another text's hash": "UPDATE records SET text_hash = x'00' WHERE id = 'mem_7'",
}


@pytest.mark.parametrize("statement", RECORDS.values(), ids=RECORDS)
def test_a_damaged_record_costs_itself_and_is_made_again(path, root, statement):
    run(path, statement)
    statements, snapshot = held(path)
    assert statements == {id_: said for id_, said in WHOLE.items() if id_ != "mem_7"}
    assert len(snapshot.damaged) == 1
    with MemoryStore.open(path) as store:
        assert "1 records are not what was written" in store.faults()[0]
        store.missing_vectors("another model")
    rebuild(path, root.read(), ANALYZER)
    assert held(path)[0] == WHOLE
    with MemoryStore.open(path) as store:
        assert store.faults() == []


VECTORS = {
    "shorter": "UPDATE vectors SET vector = substr(vector, 1, length(vector) - 4) WHERE seq = 3",
    "of odd length": "UPDATE vectors SET vector = substr(vector, 1, length(vector) - 1) WHERE seq = 3",
    "empty": "UPDATE vectors SET vector = x'' WHERE seq = 3",
    "longer": "UPDATE vectors SET vector = cast(vector || x'00000000' AS blob) WHERE seq = 1",
    "not finite": f"UPDATE vectors SET vector = x'{'ff' * 4 * COUNT}' WHERE seq = 3",
}


@pytest.mark.parametrize("statement", VECTORS.values(), ids=VECTORS)
def test_a_damaged_vector_costs_itself_and_is_made_again(path, root, statement):
    run(path, statement)
    statements, snapshot = held(path)
    assert statements == WHOLE
    assert snapshot.vectors.count == COUNT - 1
    with MemoryStore.open(path) as store:
        assert store.faults() == ["1 vectors of m are not what was written"]
    rebuild(path, root.read(), ANALYZER)
    with MemoryStore.open(path) as store:
        assert store.faults() == []
        missing = store.missing_vectors("m")
        assert len(missing) == 1
        store.put_vectors("m", [missing[0][0]], np.eye(COUNT, dtype=np.float32)[:1])
    assert held(path)[1].vectors.count == COUNT


def test_one_new_vector_of_another_length_is_left_out_too(path, root):
    with MemoryStore.open(path) as store:
        snapshot = load_snapshot(store, "m")
        write(root.path, L2, *(line(f"mem_{n}", statement=f"rule number {n}") for n in range(COUNT + 1)))
        store.sync_root(root, ANALYZER)
        store.put_vectors("m", [store.missing_vectors("m")[0][0]], np.eye(COUNT, dtype=np.float32)[:1])
        run(path, "UPDATE vectors SET vector = substr(vector, 1, 8) WHERE seq = ?", COUNT + 1)
        again = load_snapshot(store, "m")
        assert again.vectors.count == snapshot.vectors.count


def test_a_bit_of_a_vector_is_named_by_a_doctor(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        blob = bytearray(connection.execute("SELECT vector FROM vectors WHERE seq = 3").fetchone()[0])
        blob[4] ^= 1
        connection.execute("UPDATE vectors SET vector = ? WHERE seq = 3", (bytes(blob),))
    with MemoryStore.open(path) as store:
        assert store.faults() == ["1 vectors of m are not what was written"]


def test_rows_that_went_missing_come_back_with_the_next_sync(path, root):
    for statement in ("DELETE FROM records WHERE rowid % 3 = 0", "DELETE FROM records"):
        run(path, statement)
        with MemoryStore.open(path) as store:
            assert "instead of 12" in store.faults()[0]
            store.sync_root(root, ANALYZER)
            assert store.faults() == []
        assert held(path)[0] == WHOLE


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM state",
        "UPDATE state SET warnings = 'x'",
        "UPDATE state SET warnings = x'ff'",
        "UPDATE state SET generation = 'x'",
        "DELETE FROM marks",
    ],
)
def test_a_state_that_cannot_be_read_says_what_to_do_and_is_made_again(path, root, statement):
    run(path, statement)
    with MemoryStore.open(path) as store, pytest.raises(StoreError, match=r"is damaged .*pi-rank rebuild"):
        load_snapshot(store, "m")
    rebuild(path, root.read(), ANALYZER)
    assert held(path)[0] == WHOLE


@pytest.mark.parametrize("text", ["", "x", '[{"file": 1}]'])
def test_a_report_that_cannot_be_read_is_damage(path, root, text):
    run(path, "UPDATE state SET skipped = ?", text)
    with MemoryStore.open(path) as store:
        with pytest.raises(StoreError, match="is damaged"):
            store.sync_root(root, ANALYZER)
        with pytest.raises(StoreError, match="is damaged"):
            store.faults()
    rebuild(path, root.read(), ANALYZER)
    with MemoryStore.open(path) as store:
        assert store.sync_root(root, ANALYZER).unchanged == COUNT
