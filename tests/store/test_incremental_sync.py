"""A sync decodes only what has come since the last one, and leaves what one from nothing would leave."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.memory import contents as root_contents
from pi_rank.memory import pieces, records
from pi_rank.memory.contents import decode_files
from pi_rank.memory.root import MemoryRoot
from pi_rank.store.kept import STAYS_DELETED
from pi_rank.store.pieces import read_known
from pi_rank.store.store import MemoryStore
from tests.reference.files.root_contents import plain_records
from tests.support.memory_files import L1, L2, TOMBSTONES, CountingAnalyzer, line

WEB = "memory/projects/web.jsonl"
API = "memory/projects/api.jsonl"
FILES = (L1, L2, WEB, API)
IDS = [f"mem_{letter}" for letter in "abcdefgh"]
ANALYZER = CountingAnalyzer()
CONTENTS = {
    "records": "SELECT id, file, content_hash, text_hash, tombstoned, active, payload, terms FROM records",
    "search": "SELECT id, statement, tags FROM records_fts JOIN records ON records.rowid = records_fts.rowid",
    "tombstones": "SELECT id FROM tombstones",
    "files": "SELECT file, size, digest FROM files",
    "pieces": "SELECT file, digest, content FROM pieces",
    "report": "SELECT root, skipped, warnings, pieces_check FROM state",
}
EVERYTHING = {
    **CONTENTS,
    "records": "SELECT * FROM records",
    "removed": "SELECT * FROM removed",
    "state": "SELECT generation, complete_from FROM state",
}
_clock = count()


def dump(path, queries=CONTENTS):
    connection = sqlite3.connect(path)
    found = {name: sorted(connection.execute(query)) for name, query in queries.items()}
    connection.close()
    return found


def put(root, files, unreadable=()):
    """Make these the root's files, each of a time of its own and long ago: known by size and time."""
    shutil.rmtree(root / "memory", ignore_errors=True)
    (root / "memory" / "projects").mkdir(parents=True)
    for file, data in files.items():
        path = root / file
        if file in unreadable:
            path.mkdir()
        else:
            path.write_bytes(data)
            os.utime(path, (1e9 + next(_clock),) * 2)


class Stores:
    """The same versions of a root, synced in two ways: what has come only, and everything each time."""

    def __init__(self, folder):
        self.root = MemoryRoot(folder / "root")
        self.folder = folder
        self.incremental = MemoryStore.open(folder / "incremental.sqlite3")
        self.full = MemoryStore.open(folder / "full.sqlite3")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.incremental.close()
        self.full.close()

    def check(self):
        """Sync, and compare; what a new store holds is the same, unless it lacks what cannot be read now."""
        files = self.root.read_files()
        report = self.incremental.sync_root(self.root, ANALYZER)
        assert report == self.full.sync(self.root.read(self.full.known_files(self.root)), ANALYZER)
        assert dump(self.incremental.path, EVERYTHING) == dump(self.full.path, EVERYTHING)
        contents = decode_files(files)
        found, skipped = plain_records(files)
        assert contents.records == found
        assert contents.skipped[: len(skipped)] == skipped
        assert list(report.skipped) == contents.skipped
        # A new store has nothing to keep deleted where a line of the tombstones cannot be read.
        if not files.unreadable and STAYS_DELETED not in report.warnings:
            path = self.folder / f"nothing-{next(_clock)}.sqlite3"
            with MemoryStore.open(path) as nothing:
                new = nothing.sync_root(self.root, ANALYZER)
            assert (new.added, new.skipped, new.warnings) == (
                report.added + report.changed + report.unchanged,
                report.skipped,
                report.warnings,
            )
            assert dump(path) == dump(self.incremental.path)
        return report


some_lines = st.one_of(
    st.builds(
        lambda id_, word, more: line(id_, statement=f"word{word}", **more).encode(),
        st.sampled_from(IDS),
        st.sampled_from("xyz"),
        st.sampled_from([{}, {}, {"scope": {"type": "global"}}, {"status": "contested"}, {"confidence": 7}]),
    ),
    st.sampled_from(
        [b"", b" \r", b"{", b'{"id": "mem_a", "stat', b"\xff", line("mem_a", tags=["t"]).encode() + b"\r"]
    ),
)
some_files = st.fixed_dictionaries({file: st.lists(some_lines, max_size=12) for file in FILES})
places = st.integers(0, 99)
edits = st.one_of(
    st.tuples(st.just("insert"), st.sampled_from(FILES), places, some_lines),
    st.tuples(st.just("change"), st.sampled_from(FILES), places, some_lines),
    st.tuples(st.just("delete"), st.sampled_from(FILES), places),
    st.tuples(
        st.sampled_from(("copy", "move")), st.sampled_from(FILES), places, st.sampled_from(FILES), places
    ),
    st.tuples(st.just("turn"), st.sampled_from(FILES), places, places),
    st.tuples(st.just("remove"), st.sampled_from(FILES)),
    st.tuples(st.just("bury"), st.sampled_from(IDS)),
    st.tuples(st.just("block"), st.sampled_from((*FILES, TOMBSTONES))),
    st.tuples(st.just("unend"), st.sampled_from(FILES)),
    st.tuples(st.just("mark"), st.sampled_from(FILES)),
)


class Memory:
    """A root's files as lists of lines, to be edited."""

    def __init__(self, files):
        self.lines = {file: list(lines) for file, lines in files.items()}
        self.bury, self.block, self.unend, self.mark = set(), set(), set(), set()

    def edit(self, kind, target, *arguments):
        lines = self.lines.get(target, [])
        place = arguments[0] % (len(lines) + 1) if arguments else 0
        if kind == "insert":
            lines.insert(place, arguments[1])
        elif kind == "change":
            lines[place : place + 1] = [arguments[1]]
        elif kind == "delete":
            del lines[place : place + 1]
        elif kind in ("copy", "move"):
            taken = lines[place : place + 3]
            if kind == "move":
                del lines[place : place + 3]
            other = self.lines[arguments[1]]
            at = arguments[2] % (len(other) + 1)
            other[at:at] = taken
        elif kind == "turn":
            lines[:] = lines[place:] + lines[:place]
        elif kind == "remove":
            lines.clear()
        else:
            of = {"bury": self.bury, "block": self.block, "unend": self.unend, "mark": self.mark}[kind]
            of ^= {target}

    def put(self, root):
        files = {}
        for file, lines in self.lines.items():
            if lines or file in self.block:
                end = b"" if file in self.unend else b"\n"
                files[file] = b"\xef\xbb\xbf" * (file in self.mark) + b"\n".join(lines) + end
        if self.bury or TOMBSTONES in self.block:
            markers = [b'{"deleted_record_id": "%s"}\n' % id_.encode() for id_ in sorted(self.bury)]
            files[TOMBSTONES] = b"".join(markers) + b"broken\n"
        put(root, files, self.block)


@settings(max_examples=60, deadline=None)
@given(
    some_files, st.lists(st.lists(edits, min_size=1, max_size=3), min_size=1, max_size=6), st.integers(1, 3)
)
def test_after_any_edits_the_store_is_what_a_sync_of_everything_leaves(files, versions, lines_per_piece):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LINES_PER_PIECE", lines_per_piece)
        memory = Memory(files)
        with Stores(Path(folder)) as stores:
            memory.put(stores.root.path)
            stores.check()
            for version in versions:
                for edit in version:
                    memory.edit(*edit)
                memory.put(stores.root.path)
                stores.check()


@pytest.fixture
def stores(tmp_path):
    with Stores(tmp_path) as opened:
        yield opened


def statements(store):
    return {row.id: records.decode_record(row.payload).statement for row in store.rows().added}


def test_two_records_of_one_id_change_places(stores, monkeypatch):
    monkeypatch.setattr(pieces, "LINES_PER_PIECE", 1)
    one, two = line("mem_a", statement="one").encode(), line("mem_a", statement="two").encode()
    put(stores.root.path, {L2: one + b"\n" + two})
    stores.check()
    put(stores.root.path, {L2: two + b"\n" + one})
    assert stores.check().changed == 1
    assert statements(stores.incremental) == {"mem_a": "one"}


def test_a_record_that_another_one_hid_comes_back(stores):
    put(stores.root.path, {L1: line("mem_a", statement="one").encode(), WEB: line("mem_a").encode()})
    stores.check()
    put(stores.root.path, {L1: line("mem_a", statement="one").encode()})
    assert stores.check().changed == 1
    assert statements(stores.incremental) == {"mem_a": "one"}


def test_a_file_that_could_not_be_read_has_lost_a_record_meanwhile(stores):
    files = {L1: line("mem_1").encode(), L2: line("mem_a").encode() + b"\n" + line("mem_b").encode()}
    put(stores.root.path, files)
    stores.check()
    put(stores.root.path, {**files, L1: b""}, unreadable=[L2])
    assert stores.check().removed == 1
    put(stores.root.path, {**files, L2: line("mem_b").encode()})
    assert stores.check().removed == 1
    assert statements(stores.incremental).keys() == {"mem_1", "mem_b"}


def test_a_file_that_could_not_be_read_is_gone_and_nothing_else_has_changed(stores):
    files = {L1: line("mem_1").encode(), L2: line("mem_a").encode()}
    put(stores.root.path, files)
    stores.check()
    put(stores.root.path, files, unreadable=[L2])
    assert stores.check().unchanged == 2
    put(stores.root.path, {L1: files[L1]})
    report = stores.check()
    assert (report.removed, report.warnings) == (1, ())


def test_all_files_are_gone(stores):
    files = {L1: line("mem_1").encode(), L2: line("mem_a").encode()}
    for version, unreadable in ((files, []), ({}, []), (files, [L2]), ({}, [])):
        put(stores.root.path, version, unreadable)
        stores.check()
        assert len(statements(stores.incremental)) == len(version) - len(unreadable)


def test_another_store_object_goes_on_where_the_first_stopped(stores):
    lines = [line(id_).encode() for id_ in IDS]
    put(stores.root.path, {L2: b"\n".join(lines)})
    stores.check()
    with MemoryStore.open(stores.incremental.path) as other:
        put(stores.root.path, {L2: b"\n".join(lines[2:])})
        assert other.sync_root(stores.root, ANALYZER).removed == 2
        stores.full.sync(stores.root.read(), ANALYZER)
    put(stores.root.path, {L2: b"\n".join(lines[1:])})
    assert stores.check().added == 1


@pytest.fixture
def large(tmp_path, monkeypatch):
    """Two synced stores of 4,000 records, their lines, and a counter of the lines decoded since."""
    with Stores(tmp_path) as stores:
        lines = [line(f"mem_{number}", statement=f"Rule {number}").encode() for number in range(4_000)]
        put(stores.root.path, {L2: b"\n".join(lines) + b"\n"})
        stores.check()
        decoded = []

        def counted(raw, **of):
            decoded.append(raw)
            return records.decode_record(raw, **of)

        monkeypatch.setattr(pieces, "decode_record", counted)
        monkeypatch.setattr(root_contents, "decode_record", counted)
        yield stores, lines, decoded


def put_lines(stores, lines):
    put(stores.root.path, {L2: b"\n".join(lines) + b"\n"})


@pytest.mark.parametrize(
    ("places", "removed", "inserted"),
    [
        ([0], 1, [line("mem_0", statement="Changed")]),
        ([0], 0, [line("mem_new")]),
        ([2_000], 0, [line("mem_new"), "broken", line("mem_7", statement="Twice")]),
        ([2_000], 3, []),
        ([3_999], 1, [line("mem_3999", statement="Changed")]),
        ([4_000], 0, [line("mem_new")]),
        ([3_500, 1_500, 500], 1, ["broken"]),
    ],
)
def test_few_lines_are_decoded_and_few_rows_written_for_a_small_change(large, places, removed, inserted):
    stores, lines, decoded = large
    for place in places:
        lines[place : place + removed] = [item.encode() for item in inserted]
    put_lines(stores, lines)
    writer = stores.incremental._writer.connection
    before = writer.total_changes
    stores.incremental.sync_root(stores.root, ANALYZER)
    assert 0 < len(decoded) < 1_000
    assert writer.total_changes - before < 60
    stores.full.sync(stores.root.read(), ANALYZER)
    assert dump(stores.incremental.path) == dump(stores.full.path)


def damage(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pieces SET content = '[[],[]]' WHERE digest = (SELECT min(digest) FROM pieces)",
        "UPDATE pieces SET content = x'ff00' WHERE digest = (SELECT min(digest) FROM pieces)",
        "UPDATE pieces SET content = 7",
        "UPDATE pieces SET file = 'memory/L1.identity.jsonl'",
        "UPDATE pieces SET digest = x'00' WHERE digest = (SELECT min(digest) FROM pieces)",
        "DELETE FROM pieces WHERE digest = (SELECT min(digest) FROM pieces)",
        "DELETE FROM pieces",
        "UPDATE state SET pieces_check = x''",
        "UPDATE state SET pieces_check = 'text'",
        "DELETE FROM records WHERE id = 'mem_5'",
    ],
)
def test_damaged_pieces_are_not_believed(large, statement):
    stores, lines, decoded = large
    damage(stores.incremental.path, statement)
    damage(stores.incremental.path, "DELETE FROM records_fts WHERE rowid NOT IN (SELECT rowid FROM records)")
    put_lines(stores, lines[:-2])
    stores.incremental.sync_root(stores.root, ANALYZER)
    assert len(decoded) == len(lines) - 2
    stores.full.sync(stores.root.read(), ANALYZER)
    assert dump(stores.incremental.path) == dump(stores.full.path)


@pytest.mark.parametrize("version", ["2 1.0", f"{records.DECODING_VERSION} 0.0.0"])
def test_pieces_that_other_rules_decoded_are_decoded_again(large, monkeypatch, version):
    stores, lines, decoded = large
    monkeypatch.setattr("pi_rank.store.pieces._DECODING", version)
    put_lines(stores, lines[1:])
    stores.incremental.sync_root(stores.root, ANALYZER)
    assert len(decoded) == len(lines) - 1
    put_lines(stores, lines[2:])
    decoded.clear()
    stores.incremental.sync_root(stores.root, ANALYZER)
    assert len(decoded) < 1_000


def test_a_rebuild_decodes_everything(large):
    stores, lines, decoded = large
    report = stores.incremental.replace(stores.root.read(), ANALYZER)
    assert (report.added, len(decoded)) == (len(lines), len(lines))
    with stores.incremental._reading() as connection:
        assert read_known(connection) is not None


def test_one_changed_line_of_fifty_thousand_costs_a_small_part_of_a_whole_sync(tmp_path):
    lines = [line(f"mem_{number}", statement=f"Rule {number}: test it").encode() for number in range(50_000)]
    root = MemoryRoot(tmp_path)

    def timed(sync):
        put(root.path, {L2: b"\n".join(lines)})
        started = time.process_time()
        report = sync()
        return time.process_time() - started, report

    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        timed(lambda: store.sync_root(root, ANALYZER))
        lines[20_000] = line("mem_20000", statement="Changed").encode()
        whole, _ = timed(lambda: store.sync(root.read(), ANALYZER))
        lines.insert(0, line("mem_new").encode())
        part, report = timed(lambda: store.sync_root(root, ANALYZER))
    assert (report.added, report.unchanged) == (1, 50_000)
    assert part < whole / 2
