"""What cannot be read keeps its last good state, also through a rebuild; without one, nothing is shown."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from pi_rank.errors import MemoryRootError, StoreError
from pi_rank.memory.root import MemoryRoot
from pi_rank.store.rebuild import rebuild
from pi_rank.store.store import MemoryStore
from tests.support.memory_files import L1, L2, TOMBSTONES, CountingAnalyzer, line, settle, write

ANALYZER = CountingAnalyzer()
WEB = "memory/projects/web.jsonl"


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root", L1, line("mem_me", layer="L1"))
    write(tmp_path / "root", L2, line("mem_kept"), line("mem_gone"))
    write(tmp_path / "root", WEB, line("mem_web"))
    write(tmp_path / "root", TOMBSTONES, '{"deleted_record_id": "mem_gone"}')
    return MemoryRoot(tmp_path / "root")


@pytest.fixture
def path(tmp_path, root):
    path = tmp_path / "store.sqlite3"
    with MemoryStore.open(path) as store:
        store.sync_root(root, ANALYZER)
    return path


def make_unreadable(root, file):
    """A folder in the file's place: nobody can read it, root included."""
    data = (root.path / file).read_bytes()
    (root.path / file).unlink()
    (root.path / file).mkdir()
    return data


def make_readable(root, file, data):
    (root.path / file).rmdir()
    (root.path / file).write_bytes(data)


def states(path):
    with MemoryStore.open(path) as store:
        return {row.id: row.tombstoned for row in store.rows().added}


ALL = {"mem_me": False, "mem_kept": False, "mem_gone": True, "mem_web": False}


def in_place(path, root):
    return rebuild(path, root.read(), ANALYZER)


def by_sync(path, root):
    with MemoryStore.open(path) as store:
        return store.sync_root(root, ANALYZER)


def of_another_version(path, root):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    return rebuild(path, root.read(), ANALYZER)


def of_a_damaged_file(path, root):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE vectors")
    return rebuild(path, root.read(), ANALYZER)


WAYS = [by_sync, in_place, of_another_version, of_a_damaged_file]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", [TOMBSTONES, L1, L2, WEB])
def test_a_file_that_cannot_be_read_keeps_what_it_held(path, root, file, way):
    data = make_unreadable(root, file)
    report = way(path, root)
    assert states(path) == ALL
    assert any(warning.startswith(f"{file} cannot be read") for warning in report.warnings)
    make_readable(root, file, data)
    assert [w for w in by_sync(path, root).warnings if "cannot be read" in w] == []
    assert states(path) == ALL


@pytest.mark.parametrize("way", WAYS)
def test_tombstones_in_utf_16_keep_what_they_held(path, root, way):
    text = (root.path / TOMBSTONES).read_text(encoding="utf-8")
    (root.path / TOMBSTONES).write_bytes(text.encode("utf-16"))
    assert "UTF-16" in " ".join(way(path, root).warnings)
    assert states(path) == ALL


@pytest.mark.parametrize("way", WAYS)
def test_what_another_file_says_now_counts(path, root, way):
    make_unreadable(root, L1)
    settle(write(root.path, L2, line("mem_kept"), line("mem_me", layer="L2", statement="now here")))
    way(path, root)
    assert states(path) == {"mem_me": False, "mem_kept": False, "mem_web": False}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("torn", ["{", '{"deleted_record_id": "mem_g', "[]", '{"deleted": 1}'])
def test_a_marker_that_was_not_written_to_its_end_deletes_as_before(path, root, way, torn):
    settle(write(root.path, TOMBSTONES, torn))
    report = way(path, root)
    assert states(path) == ALL
    assert [line.file for line in report.skipped] == [TOMBSTONES]
    assert any("what was deleted stays so" in warning for warning in report.warnings)
    settle(write(root.path, TOMBSTONES, '{"deleted_record_id": "mem_web"}'))
    by_sync(path, root)
    assert states(path) == ALL | {"mem_gone": False, "mem_web": True}


@pytest.mark.parametrize("torn", ['{"deleted_record_id": "mem_gone"', '{"deleted_record_id":"mem_gone'])
def test_a_torn_marker_that_names_its_record_counts_at_a_first_sync(tmp_path, root, torn):
    (root.path / TOMBSTONES).write_bytes(torn.encode())
    report = by_sync(tmp_path / "new.sqlite3", root)
    assert states(tmp_path / "new.sqlite3") == ALL
    assert [line.file for line in report.skipped] == [TOMBSTONES]


def test_without_deletion_markers_nothing_is_taken_in_for_the_first_time(tmp_path, root):
    new = tmp_path / "new.sqlite3"
    data = make_unreadable(root, TOMBSTONES)
    for way in (by_sync, in_place):
        with pytest.raises(MemoryRootError, match="cannot be read, and was not read before"):
            way(new, root)
        assert states(new) == {}
    make_readable(root, TOMBSTONES, data)
    by_sync(new, root)
    assert states(new) == ALL


def test_what_nobody_can_read_any_more_is_not_rebuilt_without(path, root):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE tombstones")
    make_unreadable(root, TOMBSTONES)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"not rebuilt: memory/tombstones.jsonl cannot be read"):
        rebuild(path, root.read(), ANALYZER)
    assert path.read_bytes() == before


def test_a_damaged_copy_of_what_cannot_be_read_is_left_out_and_named(path, root):
    make_unreadable(root, L1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE records SET payload = x'7b7d' WHERE id = 'mem_me'")
    report = in_place(path, root)
    assert states(path) == {"mem_kept": False, "mem_gone": True, "mem_web": False}
    assert any("copy of mem_me is damaged" in warning for warning in report.warnings)


def test_the_files_of_one_root_are_not_kept_for_another(path, root, tmp_path):
    write(tmp_path / "other", L2, line("mem_other"))
    (tmp_path / "other" / L1).mkdir()
    with pytest.raises(StoreError, match=r"not rebuilt for .*other while memory/L1.identity.jsonl"):
        rebuild(path, MemoryRoot(tmp_path / "other").read(), ANALYZER)
    assert states(path) == ALL
