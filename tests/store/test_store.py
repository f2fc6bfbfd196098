from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.errors import StoreError, VectorError
from pi_rank.memory.contents import Skipped
from pi_rank.memory.records import decode_record, text_hash
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import unpack_terms
from pi_rank.store.rows import RowChanges
from pi_rank.store.store import MemoryStore, default_store_path
from pi_rank.store.sync import _DROP_ORPHANS
from tests.support.memory_files import L1, L2, TOMBSTONES, CountingAnalyzer, line, settle, write


@pytest.fixture
def store(tmp_path):
    with MemoryStore.open(tmp_path / "cache" / "store.sqlite3") as opened:
        yield opened


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "memory").mkdir(parents=True)
    return tmp_path / "root"


def sync(store, root, analyzer=None):
    return store.sync(MemoryRoot(root).read(), analyzer or CountingAnalyzer())


def counts(report):
    return report.added, report.changed, report.removed, report.unchanged, report.generation


def stored(store):
    return {row.id: row for row in store.rows().added}


def unit(*rows):
    matrix = np.array(rows, np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_a_new_store_is_empty(store):
    assert store.version()[:2] == (0, 0)
    assert store.rows() == RowChanges(0, store.version().mark, True, [], [], (), ())
    assert store.lexical_search('"bun"', 5) == []
    assert len(store.uuid) == 32


def test_the_first_sync_stores_every_record(store, root):
    write(root, L2, line("mem_a", tags=["bun", "tools"]), line("mem_b", status="contested"))
    assert counts(sync(store, root)) == (2, 0, 0, 0, 1)
    changes = store.rows()
    assert (changes.generation, changes.complete, changes.removed) == (1, True, [])
    row = changes.added[0]
    assert (row.rowid, row.id, row.tombstoned) == (1, "mem_a", False)
    assert unpack_terms(row.terms)[0] == {"statement": 1, "mem": 1, "bun": 1, "tool": 1}
    record = decode_record(row.payload)
    assert record.tags == ("bun", "tools")
    assert row.text_hash == text_hash(record)


def test_a_sync_touches_what_changed_and_a_changed_record_gets_a_new_row(store, root):
    write(root, L2, line("mem_a"), line("mem_b"), line("mem_c"))
    sync(store, root)
    first = store.version()
    write(root, L2, line("mem_d"), line("mem_c"), line("mem_b", confidence=0.5))
    analyzer = CountingAnalyzer()
    assert counts(sync(store, root, analyzer)) == (1, 1, 1, 1, 2)
    assert analyzer.documents == 2
    changes = store.rows(since=first)
    assert not changes.complete
    assert [(row.rowid, row.id) for row in changes.added] == [(4, "mem_d"), (5, "mem_b")]
    assert changes.removed == [1, 2]
    assert stored(store).keys() == {"mem_b", "mem_c", "mem_d"}
    now = store.version()
    assert store.rows(since=now) == RowChanges(2, now.mark, False, [], [], (), ())


def test_a_sync_that_changes_nothing_keeps_the_generation(store, root):
    write(root, L2, line("mem_a"), line("mem_b"))
    sync(store, root)
    assert counts(sync(store, root)) == (0, 0, 0, 2, 1)
    write(root, L2, "", line("mem_b"), line("mem_a", scope={"type": "global"}))
    assert counts(sync(store, root)) == (0, 0, 0, 2, 1)


def test_a_row_number_is_never_used_again(store, root):
    write(root, L2, line("mem_a"))
    sync(store, root)
    first = store.version()
    write(root, L2)
    sync(store, root)
    write(root, L2, line("mem_a"))
    sync(store, root)
    assert [row.rowid for row in store.rows().added] == [2]
    assert store.rows(since=first).removed == [1]


def test_a_reader_from_another_life_of_the_store_reads_everything(store, root):
    write(root, L2, line("mem_a"))
    sync(store, root)
    assert not store.rows(since=store.version()).complete
    assert store.rows(since=store.version()._replace(mark=bytes(16))).complete


def test_a_long_removal_log_is_cut_and_readers_that_are_behind_reload(store, root, monkeypatch):
    monkeypatch.setattr("pi_rank.store.sync.MOST_REMOVED", 2)
    seen = []
    for number in range(5):
        write(root, L2, line("mem_a", statement=f"version {number}"))
        sync(store, root)
        seen.append(store.version())
    assert store.rows(since=seen[0]).complete
    assert store.rows(since=seen[2]).complete
    last = store.rows(since=seen[3])
    assert (last.complete, [row.rowid for row in last.added], last.removed) == (False, [5], [4])


def test_a_tombstone_is_a_change_of_its_record_and_so_is_its_end(store, root):
    write(root, L2, line("mem_a"), line("mem_b"))
    sync(store, root)
    first = store.version()
    marker = write(root, TOMBSTONES, '{"deleted_record_id": "mem_a"}', '{"deleted_record_id": "mem_z"}')
    assert counts(sync(store, root)) == (0, 1, 0, 1, 2)
    changes = store.rows(since=first)
    assert [(row.id, row.tombstoned) for row in changes.added] == [("mem_a", True)]
    assert changes.removed == [1]
    marker.unlink()
    assert counts(sync(store, root)) == (0, 1, 0, 1, 3)
    assert not stored(store)["mem_a"].tombstoned


def test_what_cannot_be_read_now_is_kept_as_it_was(store, root):
    write(root, L1, line("mem_1"))
    write(root, L2, line("mem_2"), line("mem_3"))
    write(root, "memory/projects/web.jsonl", line("mem_4"))
    write(root, TOMBSTONES, '{"deleted_record_id": "mem_3"}', '{"deleted_record_id": "mem_5"}')
    sync(store, root)
    for file in (L1, TOMBSTONES):
        (root / file).unlink()
        (root / file).mkdir()
    (root / "memory/projects/web.jsonl").unlink()
    (root / "memory/projects").rmdir()
    write(root, "memory/projects", "a file")
    write(root, L2, line("mem_3", confidence=0.5), line("mem_5"))
    assert counts(sync(store, root)) == (1, 1, 1, 2, 2)
    rows = stored(store)
    assert rows.keys() == {"mem_1", "mem_3", "mem_4", "mem_5"}
    assert {id_ for id_, row in rows.items() if row.tombstoned} == {"mem_3", "mem_5"}


def test_an_unchanged_root_is_not_read_and_the_last_report_still_stands(store, root, monkeypatch):
    write(root, L2, line("mem_a"), "broken")
    memory = MemoryRoot(root)
    first = store.sync_root(memory, CountingAnalyzer())
    assert first.skipped[0].line == 2
    settle(root / L2)  # touched: known by content
    again = store.sync_root(memory, CountingAnalyzer())
    assert counts(again) == (0, 0, 0, 1, 1)
    assert again.skipped == first.skipped
    monkeypatch.setattr(MemoryRoot, "read_files", None)  # nothing needs reading any more
    monkeypatch.setattr("pi_rank.memory.files.read_version", None)
    assert store.sync_root(memory, CountingAnalyzer()) == again
    monkeypatch.undo()
    write(root, L2, line("mem_a"), line("mem_b"))
    assert counts(store.sync_root(memory, CountingAnalyzer())) == (1, 0, 0, 1, 2)


def test_a_broken_line_takes_its_record_out_and_says_so(store, root):
    write(root, L2, line("mem_a"), line("mem_b"))
    sync(store, root)
    write(root, L2, line("mem_a"), line("mem_b", confidence=3))
    report = sync(store, root)
    assert counts(report) == (0, 0, 1, 1, 2)
    assert report.skipped == (
        Skipped(L2, 2, "confidence: Expected `float` <= 1.0 - at `$.confidence`, got 3"),
    )


def test_a_store_belongs_to_one_root(store, root, tmp_path):
    write(root, L2, line("mem_a"))
    sync(store, root)
    write(tmp_path / "other", L2, line("mem_z"))
    with pytest.raises(StoreError, match="of the memory root"):
        store.sync_root(MemoryRoot(tmp_path / "other"), CountingAnalyzer())
    assert stored(store).keys() == {"mem_a"}
    link = tmp_path / "link"
    link.symlink_to(root)
    assert counts(sync(store, link)) == (0, 0, 0, 1, 1)


def test_awkward_text_is_stored_as_it_is(store, root):
    statement = "nul \x00, # heading\n```\n\u202ertl 😀 '; DROP TABLE records; --"
    write(root, L2, line("mem_'\"", statement=statement, tags=["a\x00b"]))
    sync(store, root)
    assert decode_record(stored(store)["mem_'\""].payload).statement == statement


def test_lexical_search_is_best_first_and_follows_the_rows(store, root):
    write(
        root,
        L2,
        line("mem_a", statement="Run the tests with bun"),
        line("mem_b", statement="Deploy on Tuesday", tags=["bun"]),
        line("mem_c", statement="Nothing to see"),
        line("mem_d", statement="Run the tests with bun"),
    )
    sync(store, root)
    hits = store.lexical_search('"bun" OR "testing"', 10)
    assert [rowid for rowid, _ in hits] == [1, 4, 2]
    assert hits[0][1] == hits[1][1] > hits[2][1]
    assert [rowid for rowid, _ in store.lexical_search('"bun"', 1, rowids=[3, 4])] == [4]
    assert store.lexical_search('"bun"', 5, rowids=[]) == []
    write(root, L2, line("mem_a", statement="Something else"))
    sync(store, root)
    assert store.lexical_search('"bun"', 10) == []
    assert [rowid for rowid, _ in store.lexical_search('"else"', 10)] == [5]
    with pytest.raises(StoreError, match="does not understand the search"):
        store.lexical_search('"unbalanced', 5)


def test_vectors_are_kept_by_text_and_model(store, root):
    write(
        root,
        L2,
        line("mem_a", statement="one"),
        line("mem_b", statement="one"),
        line("mem_c", statement="two"),
    )
    sync(store, root)
    missing = store.missing_vectors("m1")
    assert [text for _, text in missing] == ["one", "two"]
    hashes = [hash_ for hash_, _ in missing]
    store.put_vectors("m1", hashes, unit([1, 0], [0, 1]))
    assert store.missing_vectors("m1") == []
    assert len(store.missing_vectors("m2")) == 2
    found = store.vectors("m1")
    assert found.text_hashes == hashes
    assert found.matrix.dtype == np.float32
    assert found.matrix.tolist() == [[1, 0], [0, 1]]
    assert found.last == store.version().vectors == 2
    assert store.vector_counts() == {"m1": 2}
    later = store.vectors("m1", after=1)
    assert (later.text_hashes, later.matrix.tolist()) == (hashes[1:], [[0, 1]])
    assert store.vectors("m1", after=2).matrix.shape == (0, 0)
    store.put_vectors("m1", hashes[:1], unit([0, 1]))
    assert store.vectors("m1").matrix.tolist() == [[1, 0], [0, 1]]
    store.drop_vectors("m1")
    assert store.version().vectors >= 2
    assert store.vector_counts() == {}


def test_only_what_can_be_selected_needs_a_vector(store, root):
    write(
        root,
        L2,
        line("mem_a"),
        line("mem_b", status="deprecated"),
        line("mem_c", status="contested"),
        line("mem_d"),
    )
    write(root, TOMBSTONES, '{"deleted_record_id": "mem_d"}')
    sync(store, root)
    assert [text for _, text in store.missing_vectors("m")] == ["Statement of mem_a"]


def test_vectors_of_texts_that_are_gone_go(store, root):
    write(
        root,
        L2,
        line("mem_a", statement="one"),
        line("mem_b", statement="one"),
        line("mem_c", statement="two"),
    )
    sync(store, root)
    hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
    for model in ("k", "m", "z"):
        store.put_vectors(model, hashes, unit([1, 0], [0, 1]))
    write(root, L2, line("mem_b", statement="one", confidence=0.1))
    sync(store, root)
    assert [store.vectors(model).text_hashes for model in ("k", "m", "z")] == [hashes[:1]] * 3
    store.put_vectors("m", hashes[1:], unit([0, 1]))  # embedded before the sync, arriving after it
    assert store.vectors("m").text_hashes == hashes[:1]


def test_a_removed_text_is_no_reason_to_look_at_all_vectors(store):
    plan = store._reader.connection.execute(f"EXPLAIN QUERY PLAN {_DROP_ORPHANS}", (b"",)).fetchall()
    assert not [step for *_, step in plan if step.startswith("SCAN") and "vectors" in step]


def test_embedding_that_is_interrupted_keeps_whole_chunks(store, root, monkeypatch):
    monkeypatch.setattr("pi_rank.store.store.VECTORS_PER_TRANSACTION", 2)
    write(root, L2, *(line(f"mem_{number}") for number in range(5)))
    sync(store, root)
    hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
    with pytest.raises(StoreError):
        store.put_vectors("m", [*hashes[:3], {}], unit(*np.eye(4)))  # the second chunk cannot be bound
    assert store.vectors("m").text_hashes == hashes[:2]
    assert [hash_ for hash_, _ in store.missing_vectors("m")] == hashes[2:]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 2)), r"expected float32\[2, dimension\], got float64\[2, 2\]"),
        (np.zeros((1, 2), np.float32), r"got float32\[1, 2\]"),
        (np.zeros(2, np.float32), r"got float32\[2\]"),
        (np.full((2, 2), np.nan, np.float32), "not finite"),
        (np.ones((2, 3), np.float32), "2 dimensions in this store, got 3"),
        ([[1.0, 0.0]], "expected float32"),
    ],
)
def test_vectors_that_are_none_are_refused(store, root, matrix, message):
    write(root, L2, line("mem_a"), line("mem_b"))
    sync(store, root)
    hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
    store.put_vectors("m", hashes[:1], unit([1, 0]))
    with pytest.raises(VectorError, match=message):
        store.put_vectors("m", hashes, matrix)


def test_a_second_store_object_sees_the_first_ones_sync(store, root):
    with MemoryStore.open(store.path) as other, MemoryStore.open(store.path, read_only=True) as reader:
        write(root, L2, line("mem_a"))
        sync(store, root)
        assert other.version() == reader.version() == store.version()
        assert store.version()[:2] == (1, 0)
        assert stored(other).keys() == stored(reader).keys() == {"mem_a"}
        with pytest.raises(StoreError, match="to read only"):
            sync(reader, root)


def test_a_turn_never_waits_for_a_sync(store, root):
    write(root, L2, line("mem_a"))
    sync(store, root)
    inside, finish = threading.Event(), threading.Event()

    class Slow(CountingAnalyzer):
        def document_terms(self, texts):
            inside.set()
            assert finish.wait(30)
            return super().document_terms(texts)

    write(root, L2, line("mem_b"))
    writer = threading.Thread(target=sync, args=(store, root, Slow()))
    writer.start()
    try:
        assert inside.wait(30)
        assert store.version().generation == 1
        assert stored(store).keys() == {"mem_a"}
    finally:
        finish.set()
        writer.join()
    assert store.version().generation == 2
    assert stored(store).keys() == {"mem_b"}


def test_a_failing_analyzer_leaves_the_store_as_it_was(store, root):
    write(root, L2, line("mem_a"))
    sync(store, root)

    class Broken:
        def document_terms(self, texts):
            raise RuntimeError("no terms")

    write(root, L2, line("mem_b"))
    with pytest.raises(RuntimeError, match="no terms"):
        sync(store, root, Broken())
    assert stored(store).keys() == {"mem_a"}
    assert counts(sync(store, root)) == (1, 0, 1, 0, 2)


def test_replacing_starts_over_but_keeps_vectors_still_of_use(store, root, tmp_path):
    write(root, L2, line("mem_a"), line("mem_b"))
    sync(store, root)
    hashes = [hash_ for hash_, _ in store.missing_vectors("m")]
    store.put_vectors("m", hashes, unit([1, 0], [0, 1]))
    before = store.version()
    write(tmp_path / "moved", L2, line("mem_a"))
    report = store.replace(MemoryRoot(tmp_path / "moved").read(), CountingAnalyzer())
    assert counts(report) == (1, 0, 0, 0, 3)
    assert store.vectors("m").text_hashes == hashes[:1]
    changes = store.rows(since=before)
    assert (changes.complete, [row.rowid for row in changes.added]) == (True, [3])


memories = st.dictionaries(
    st.sampled_from(["mem_a", "mem_b", "mem_c", "mem_d"]), st.tuples(st.sampled_from("xyz"), st.booleans())
)


@settings(max_examples=25, deadline=None)
@given(st.lists(memories, min_size=1, max_size=5))
def test_a_reader_that_follows_every_change_holds_what_a_new_reader_reads(versions):
    with tempfile.TemporaryDirectory() as folder, MemoryStore.open(Path(folder, "store.sqlite3")) as store:
        root, held, seen = Path(folder, "root"), {}, None
        for memory in versions:
            write(root, L2, *(line(id_, statement=f"word{word}") for id_, (word, _) in memory.items()))
            deleted = [id_ for id_, (_, tombstoned) in memory.items() if tombstoned]
            write(root, TOMBSTONES, *(f'{{"deleted_record_id": "{id_}"}}' for id_ in deleted))
            sync(store, root)
            changes = store.rows(since=seen)
            held = {} if changes.complete else held
            for rowid in changes.removed:
                held.pop(rowid, None)
            held |= {row.rowid: row for row in changes.added}
            seen = store.version()
            assert held == {row.rowid: row for row in store.rows().added}
            assert {row.id: row.tombstoned for row in held.values()} == {
                id_: tombstoned for id_, (_, tombstoned) in memory.items()
            }
            for word in "xyz":
                hits = store.lexical_search(f'"word{word}"', 10)
                assert {held[rowid].id for rowid, _ in hits} == {
                    id_ for id_, (has, _) in memory.items() if has == word
                }


def test_the_store_alone_does_not_import_numpy():
    code = "import sys, pi_rank.store.store; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fifty_thousand_records(store, root):
    lines = [line(f"mem_{number}", statement=f"Rule {number}: run the tests") for number in range(50_000)]
    path = write(root, L2, *lines)
    memory, analyzer = MemoryRoot(root), CountingAnalyzer()

    def timed_sync():
        started = time.process_time()
        return counts(store.sync_root(memory, analyzer)), time.process_time() - started

    settle(path)
    first, whole = timed_sync()
    before = store.version()
    assert first == (50_000, 0, 0, 0, 1)
    again, unchanged = timed_sync()
    assert again == (0, 0, 0, 50_000, 1)
    assert unchanged < whole / 50
    write(root, L2, *lines[:25_000], line("mem_25000", statement="Changed"), *lines[25_001:])
    second, incremental = timed_sync()
    assert second == (0, 1, 0, 49_999, 2)
    assert incremental < whole / 2
    assert len(store.rows(since=before).added) == 1
    assert len(store.rows().added) == 50_000


def test_where_a_store_belongs(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    one = default_store_path(tmp_path / "My Root")
    assert one.parent.parent == tmp_path / "cache" / "stores"
    assert one.name == "store.sqlite3"
    assert one.parent.name.startswith("my-root-")
    assert one == default_store_path(tmp_path / "x" / ".." / "My Root")
    assert one != default_store_path(tmp_path / "y" / "My Root")
    monkeypatch.delenv("PI_RANK_CACHE_DIR")
    assert "pi-rank" in default_store_path(tmp_path).parts
