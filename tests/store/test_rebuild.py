from __future__ import annotations

import random
import sqlite3

import numpy as np
import pytest

from pi_rank.errors import StoreError, StoreVersionError
from pi_rank.memory.root import MemoryRoot
from pi_rank.store.rebuild import rebuild
from pi_rank.store.store import MemoryStore, default_store_path
from tests.support.memory_files import L2, CountingAnalyzer, line, write


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root", L2, *(line(f"mem_{number}") for number in range(20)))
    return MemoryRoot(tmp_path / "root")


@pytest.fixture
def path(tmp_path, root):
    """A store with a vector for each of its 20 texts."""
    path = tmp_path / "cache" / "store.sqlite3"
    with MemoryStore.open(path) as store:
        store.sync_root(root, CountingAnalyzer())
        store.put_vectors(
            "m", [hash_ for hash_, _ in store.missing_vectors("m")], np.eye(20, dtype=np.float32)
        )
    return path


def set_version(path, version):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def names(path):
    """Files beside the store, without SQLite's own companions (a reader may leave some)."""
    return sorted(item.name for item in path.parent.iterdir() if not item.name.endswith(("-wal", "-shm")))


def test_a_sound_store_is_filled_again_in_place(path, root):
    with MemoryStore.open(path) as reader:
        before = reader.version()
        report = rebuild(path, root.read(), CountingAnalyzer())
        assert (report.added, report.generation, report.warnings) == (20, 3, ())
        changes = reader.rows(since=before)
        assert (changes.complete, len(changes.added)) == (True, 20)
        assert reader.missing_vectors("m") == []
    assert names(path) == ["store.sqlite3"]


def test_no_store_yet(tmp_path, root):
    assert rebuild(tmp_path / "new" / "store.sqlite3", root.read(), CountingAnalyzer()).added == 20


def test_a_store_of_another_version_is_moved_aside_and_its_vectors_stay(path, root):
    set_version(path, 99)
    report = rebuild(path, root.read(), CountingAnalyzer())
    assert report.added == 20
    assert f"the old store is now {path}.broken-1; it may hold what was deleted" in report.warnings[-1]
    assert names(path) == ["store.sqlite3", "store.sqlite3.broken-1"]
    with MemoryStore.open(path) as store:
        assert store.missing_vectors("m") == []
        assert np.array_equal(store.vectors("m").matrix, np.eye(20))
    set_version(path, 98)
    assert (
        rebuild(path, root.read(), CountingAnalyzer())
        .warnings[-1]
        .startswith(f"the old store is now {path}.broken-2")
    )


def test_vectors_that_cannot_be_right_are_embedded_again(path, root):
    connection = sqlite3.connect(path)
    hashes = [row[0] for row in connection.execute("SELECT text_hash FROM vectors ORDER BY seq")]
    for hash_, blob in zip(
        hashes,
        [
            np.full(20, np.nan, np.float32).tobytes(),
            np.zeros(20, np.float32).tobytes(),
            b"\xff" * 80,
            b"short",
            b"",
        ],
        strict=False,
    ):
        connection.execute("UPDATE vectors SET vector = ? WHERE text_hash = ?", (blob, hash_))
    connection.commit()
    connection.close()
    set_version(path, 99)
    rebuild(path, root.read(), CountingAnalyzer())
    with MemoryStore.open(path) as store:
        assert [hash_ for hash_, _ in store.missing_vectors("m")] == hashes[:5]
        assert np.array_equal(store.vectors("m").matrix, np.eye(20)[5:])


def test_a_truncated_store_is_replaced_and_kept_aside(path, root):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    rebuild(path, root.read(), CountingAnalyzer())
    with MemoryStore.open(path) as store:
        assert len(store.rows().added) == 20
    assert path.with_name("store.sqlite3.broken-1").read_bytes() == whole[: len(whole) // 2]


def test_in_our_own_place_even_what_is_no_database_is_replaced_and_kept_aside(tmp_path, root, monkeypatch):
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path))
    path = default_store_path(root.path)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database at all" * 100)
    rebuild(path, root.read(), CountingAnalyzer())
    with MemoryStore.open(path) as store:
        assert len(store.rows().added) == 20
        assert len(store.missing_vectors("m")) == 20
    assert path.with_name("store.sqlite3.broken-1").read_bytes().startswith(b"not a database")


def test_whichever_page_is_damaged_a_rebuild_ends_in_a_sound_store(path, root):
    whole = path.read_bytes()
    for page in range(len(whole) // 4096):
        damaged = bytearray(whole)
        damaged[page * 4096 : (page + 1) * 4096] = random.Random(page).randbytes(4096)
        path.write_bytes(damaged)
        rebuild(path, root.read(), CountingAnalyzer())
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')")
        connection.close()
        with MemoryStore.open(path) as store:
            assert len(store.rows().added) == 20


def test_another_programs_file_is_never_replaced(tmp_path, root):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="left alone"):
        rebuild(path, root.read(), CountingAnalyzer())
    assert path.read_bytes() == before


def test_a_rebuild_that_fails_leaves_what_was_there(path, root):
    class Broken:
        def document_terms(self, texts):
            raise RuntimeError("no terms")

    with pytest.raises(RuntimeError):
        rebuild(path, root.read(), Broken())
    with MemoryStore.open(path) as store:
        assert len(store.rows().added) == 20
    set_version(path, 99)
    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        rebuild(path, root.read(), Broken())
    assert path.read_bytes() == before
    assert names(path) == ["store.sqlite3"]


def test_a_folder_in_the_stores_place_is_an_error(tmp_path, root):
    with pytest.raises(StoreError, match="cannot be opened"):
        rebuild(tmp_path, root.read(), CountingAnalyzer())
