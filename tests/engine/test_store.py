"""The engine and its store's state: read only, damaged, replaced under running turns."""

from __future__ import annotations

import sqlite3
import threading
import warnings

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext, StoreError
from pi_rank.snapshot import upkeep
from pi_rank.store.schema import ForeignFileError
from pi_rank.store.store import MemoryStore
from tests.store.test_faults import as_nobody, public_folder  # noqa: F401  (a fixture)
from tests.support.memory import engine_on, write_root

RECORDS = [
    {"id": f"mem_{number}", "statement": f"deploy number {number} on tuesday"} for number in range(300)
]
ASK = SessionContext(latest_user_message="when do we deploy?")


def shown(engine):
    return [hit.id for hit in engine.build_retrieval_context(ASK).selected]


def damage(path):
    """Overwrites pages in the middle, and leaves the head that makes it a store."""
    content = bytearray(path.read_bytes())
    for at in range(8192, len(content), 4096):
        content[at : at + 64] = bytes(64)
    path.write_bytes(content)


def described(root, store):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with MemoryEngine.open(root, store=store, model=None) as engine:
            found = len(shown(engine))
            try:
                engine.sync()
                synced = "synced"
            except StoreError as error:
                synced = str(error)
    return "|".join([str(found), synced, *(str(warning.message) for warning in caught)])


def test_a_store_that_may_not_be_written_to_is_read_with_a_warning(public_folder):  # noqa: F811
    root = write_root(public_folder / "root", RECORDS[:20])
    store = public_folder / "cache" / "store.sqlite3"
    with MemoryEngine.open(root, store=store, model=None) as engine:
        engine.sync()
    write_root(root, RECORDS[:30])
    store.chmod(0o444)
    store.parent.chmod(0o555)
    found, synced, warning = as_nobody(lambda: described(root, store)).split("|")
    store.parent.chmod(0o755)
    assert found == "12"
    assert "may not be written to" in synced
    assert "sync will fail" in warning


def test_another_programs_file_is_not_read_either(tmp_path):
    root = write_root(tmp_path / "root", RECORDS[:2])
    (tmp_path / "other.sqlite3").write_bytes(b"")
    connection = sqlite3.connect(tmp_path / "other.sqlite3")
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    with pytest.raises(ForeignFileError):
        MemoryEngine.open(root, store=tmp_path / "other.sqlite3", model=None)


def test_rebuild_makes_a_damaged_store_anew(tmp_path):
    root = write_root(tmp_path / "root", RECORDS)
    store = tmp_path / "store.sqlite3"
    with MemoryEngine.open(root, store=store, model=HashingEmbedder(16)) as engine:
        engine.sync()
        before = shown(engine)
    damage(store)
    with MemoryEngine.open(root, store=store, model=HashingEmbedder(16)) as engine:
        report = engine.rebuild()
        assert report.added == 300
        assert any("the old store is now" in warning for warning in report.warnings)
        assert shown(engine) == before
        assert engine.sync().unchanged == 300
    assert (tmp_path / "store.sqlite3.broken-1").exists()


def test_turns_go_on_while_a_damaged_store_is_replaced(tmp_path, monkeypatch):
    with engine_on(tmp_path, RECORDS) as engine:
        before = shown(engine)
        engine._store.close()
        damage(engine.store_path)
        engine._store = MemoryStore.open(engine.store_path)
        working, go, real = threading.Event(), threading.Event(), upkeep.rebuild

        def slow(*arguments):
            working.set()
            assert go.wait(60)
            return real(*arguments)

        monkeypatch.setattr(upkeep, "rebuild", slow)
        rebuilding = threading.Thread(target=engine.rebuild)
        rebuilding.start()
        assert working.wait(60)
        assert shown(engine) == before
        go.set()
        rebuilding.join()
        assert shown(engine) == before
        assert engine.status()["records"] == 300


def test_the_status_tells_what_was_rebuilt(tmp_path, monkeypatch):
    monkeypatch.setattr("pi_rank.snapshot.saved.MIN_ROWS", 10)
    with engine_on(tmp_path, RECORDS) as engine:
        assert engine.status()["rebuilt"] == []
    path = tmp_path / "store.sqlite3.snapshot"
    path.write_bytes(path.read_bytes()[:100])
    with MemoryEngine.open(tmp_path / "root", store=tmp_path / "store.sqlite3", model=None) as engine:
        (line,) = engine.status()["rebuilt"]
        assert line.startswith("snapshot: ")
        assert "damaged" in line
        engine.sync()
    assert path.exists()
