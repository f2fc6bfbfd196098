"""A file that is being written is not read by halves: what it held stays until it is quiet, or replaced."""

from __future__ import annotations

import pytest

from pi_rank.memory.root import MemoryRoot
from pi_rank.store.rebuild import known_files, rebuild
from pi_rank.store.store import MemoryStore
from tests.support.memory_files import L2, TOMBSTONES, CountingAnalyzer, line, settle, write

ANALYZER = CountingAnalyzer()
LINES = [line(f"mem_{number}") for number in range(20)]
ALL = {f"mem_{number}" for number in range(20)}


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root", L2, *LINES)
    write(tmp_path / "root", TOMBSTONES, '{"deleted_record_id": "mem_3"}', '{"deleted_record_id": "mem_4"}')
    return MemoryRoot(tmp_path / "root")


@pytest.fixture
def store(tmp_path, root):
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        store.sync_root(root, ANALYZER)
        yield store


def held(store):
    return {row.id for row in store.rows().added}


HALVES = {
    "emptied": b"",
    "some whole lines": "".join(f"{line}\n" for line in LINES[:7]).encode(),
    "within a line": "".join(f"{line}\n" for line in LINES[:7]).encode() + LINES[7].encode()[:9],
    "longer, within a line": "".join(
        f"{line}\n" for line in [*LINES[:9], line("mem_9", tags=["x" * 9000])]
    ).encode()[:-3],
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
@pytest.mark.parametrize("times", [1, 3])
def test_what_a_half_written_file_held_is_kept(store, root, half, times):
    path = root.path / L2
    path.write_bytes(half)
    for _ in range(times):
        report = store.sync_root(root, ANALYZER)
        assert (report.removed, held(store)) == (0, ALL)
        (warning,) = report.warnings
        assert warning.startswith(
            f"{L2} cannot be read (it has lost its end and is being written); what it held"
        )
    write(root.path, L2, *LINES, line("mem_new"))
    report = store.sync_root(root, ANALYZER)
    assert (report.added, report.removed, report.warnings) == (1, 0, ())


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_it_is_believed_once_it_is_quiet(store, root, half):
    (root.path / L2).write_bytes(half)
    store.sync_root(root, ANALYZER)
    settle(root.path / L2)
    report = store.sync_root(root, ANALYZER)
    assert report.removed >= 10
    assert report.warnings == ()


def test_a_file_in_its_place_is_believed_at_once(store, root):
    write(root.path, "new", *LINES[:5])
    (root.path / "new").replace(root.path / L2)
    assert store.sync_root(root, ANALYZER).removed == 15


def test_a_line_that_was_taken_out_is_believed_at_once(store, root):
    lines = [*LINES[:5], *LINES[9:]]
    (root.path / L2).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    report = store.sync_root(root, ANALYZER)
    assert (report.removed, report.warnings) == (4, ())


def test_what_was_deleted_stays_deleted_while_its_marker_is_written_again(store, root):
    (root.path / TOMBSTONES).write_bytes(b"")
    store.sync_root(root, ANALYZER)
    assert {row.id for row in store.rows().added if row.tombstoned} == {"mem_3", "mem_4"}


def test_a_rebuild_keeps_it_too(store, root):
    (root.path / L2).write_bytes(b"")
    report = rebuild(store.path, root.read(known_files(store.path)), ANALYZER)
    assert held(store) == ALL
    assert "being written" in report.warnings[0]
    settle(root.path / L2)
    assert store.sync_root(root, ANALYZER).removed == 20


def test_who_asks_to_be_brought_up_to_date_waits_for_the_writer(store, root):
    (root.path / L2).write_bytes("".join(f"{line}\n" for line in LINES[:7]).encode())
    report = store.sync_root(MemoryRoot(root.path, writer_seconds=10), ANALYZER)
    assert (report.removed, report.warnings) == (13, ())
