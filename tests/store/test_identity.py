"""Whatever is at the store's path and is not ours stays as it is; and ours is for its owner alone."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

import pi_rank.store.places
from pi_rank.memory.root import MemoryRoot
from pi_rank.store.places import was_ours
from pi_rank.store.rebuild import rebuild
from pi_rank.store.schema import ForeignFileError
from pi_rank.store.store import MemoryStore, default_store_path
from tests.support.memory_files import L2, CountingAnalyzer, line, write

ANALYZER = CountingAnalyzer()


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root", L2, *(line(f"mem_{number}") for number in range(20)))
    return MemoryRoot(tmp_path / "root")


def somebody_elses(folder):
    yield "notes.txt", b"Dear diary, today\n" * 40
    yield "short.txt", b"x"
    yield "code.py", Path(pi_rank.store.places.__file__).read_bytes()
    yield "quotes.md", b'CREATE VIRTUAL TABLE records_fts USING fts5 "pi_rank-0123456789abcdef01234567"\n' * 9
    yield "image.png", b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(9000)
    yield "zeros.bin", bytes(8192)
    yield "half.db", b"SQLite format 3\0" + bytes(200)
    for name, pragma in (("other.db", "user_version = 7"), ("app.db", "application_id = 77")):
        with closing(sqlite3.connect(folder / name)) as connection, connection:
            connection.execute("CREATE TABLE theirs (a)")
            connection.execute(f"PRAGMA {pragma}")
        yield name, (folder / name).read_bytes()


def test_whatever_is_not_ours_is_left_alone(tmp_path, root):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name, content in list(somebody_elses(folder)):
        path = folder / name
        path.write_bytes(content)
        before = sorted(item.name for item in folder.iterdir())
        for attempt in (
            lambda path=path: rebuild(path, root.read(), ANALYZER),
            lambda path=path: MemoryStore.open(path),
            lambda path=path: MemoryStore.open(path, read_only=True),
        ):
            with pytest.raises(ForeignFileError, match="left alone"):
                attempt()
        assert path.read_bytes() == content, name
        assert sorted(item.name for item in folder.iterdir()) == before


@pytest.mark.parametrize("first", [0, 60, 100])
def test_a_store_of_ours_is_known_whatever_byte_of_its_header_is_wrong(tmp_path, root, first):
    path = tmp_path / "some.db"
    with MemoryStore.open(path) as store:
        store.sync_root(root, ANALYZER)
    whole = path.read_bytes()
    for place in range(first, first + 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        rebuild(path, root.read(), ANALYZER)
        with MemoryStore.open(path) as store:
            assert len(store.rows().added) == 20


def test_garbage_beside_files_of_ours_was_ours(tmp_path):
    path = tmp_path / "a [1].db"
    path.write_bytes(random.Random(2).randbytes(5000))
    assert not was_ours(path)
    path.with_name(path.name + ".snapshot").write_bytes(b"a picture")
    assert not was_ours(path)
    path.with_name(path.name + ".0f.7.graph").write_bytes(b"PIRANKAR and more")
    assert was_ours(path)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_store_and_its_folders_are_their_owners_alone(tmp_path, root, monkeypatch):
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache" / "stores").mkdir(parents=True, mode=0o755)  # by an earlier version
    path = default_store_path(root.path)
    before = os.umask(0o022)
    try:
        with MemoryStore.open(path) as store:
            store.sync_root(root, ANALYZER)
            found = [path, *path.parent.iterdir()]
            assert {stat.S_IMODE(each.stat().st_mode) for each in found} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
        MemoryStore.open(tmp_path / "new" / "deeper" / "x.db").close()
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "new" / "deeper").stat().st_mode) == 0o700
    finally:
        os.umask(before)
