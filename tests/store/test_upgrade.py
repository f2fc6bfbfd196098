"""A store of the version before is made this one when it is opened."""

from __future__ import annotations

import sqlite3

import pytest

from pi_rank import MemoryEngine, SessionContext
from pi_rank.store.checks import row_checksum
from pi_rank.store.schema import SCHEMA_VERSION, UPGRADED_VERSION
from pi_rank.store.store import MemoryStore
from tests.support.memory import write_root

RECORDS = [
    {"id": "a", "statement": "数据库迁移必须在发布之前", "tags": ["deploy"]},
    {"id": "b", "statement": "Straße gesperrt"},
]
OLD_TABLE = "CREATE VIRTUAL TABLE records_fts USING fts5(statement, tags, tokenize = 'porter unicode61')"


@pytest.fixture
def old(tmp_path):
    """A root, and a store of it with the words that another analysis would have found."""
    root, path = write_root(tmp_path / "root", RECORDS), tmp_path / "store.sqlite3"
    with MemoryEngine.open(root, store=path) as engine:
        engine.sync()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE records_fts")
    connection.execute(OLD_TABLE)
    terms = b"old\n"
    for rowid, *row in connection.execute(
        "SELECT rowid, id, text_hash, payload, tombstoned, active FROM records"
    ).fetchall():
        checksum = row_checksum(*row[:3], terms, *row[3:])
        connection.execute("INSERT INTO records_fts (rowid, statement, tags) VALUES (?, 'old', '')", (rowid,))
        connection.execute(
            "UPDATE records SET terms = ?, checksum = ? WHERE rowid = ?", (terms, checksum, rowid)
        )
    connection.execute(f"PRAGMA user_version = {UPGRADED_VERSION}")
    connection.commit()
    connection.close()
    return root, path


def version(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.parametrize("read_only", [True, False])
def test_an_old_store_finds_words_as_a_new_one_does(old, read_only):
    root, path = old
    with MemoryStore.open(path, read_only=read_only) as store:
        assert store.lexical_search('"迁移"', 5)
        assert len(store.rows().added) == 2
        assert sum(store.vector_counts().values()) == 2
    assert version(path) == SCHEMA_VERSION
    with MemoryEngine.open(root, store=path, model=None) as engine:
        for query, found in (("迁移", ["a"]), ("strasse", ["b"]), ("old", [])):
            assert [hit.id for hit in engine.search(query)] == found
        engine.sync()
        turn = engine.build_retrieval_context(SessionContext(latest_user_message="迁移"))
        assert [hit.id for hit in turn.selected] == ["a"]
        assert turn.stats["warnings"] == []


def test_a_damaged_row_stays_damaged(old):
    _, path = old
    connection = sqlite3.connect(path)
    connection.execute("UPDATE records SET payload = payload || ' ' WHERE id = 'a'")
    connection.commit()
    connection.close()
    with MemoryStore.open(path) as store:
        assert store.rows().damaged == ("a",)
