"""The notes file: whole lines or none, whatever happens while they are written."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.errors import StoreError
from pi_rank.recall.notes.log import Merge, Note, NotesLog, new_note
from pi_rank.recall.notes.notebook import Notebook, same_words

AT = "2026-06-30T12:00:00Z"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.jsonl"


def test_what_was_appended_is_read_again(path):
    lines = [
        Note("note_1", AT, "one\ntwo \u2028 🚀", "when"),
        Note("note_2", AT, "x"),
        Merge("note_1", ("note_2",), AT),
    ]
    log = NotesLog(path)
    assert log.lines == []
    log.append(lines[:2])
    log.append(lines[2:])
    log.close()
    assert path.read_bytes().count(b"\n") == 3
    again = NotesLog(path)
    assert again.lines == lines
    again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits of POSIX")
def test_only_the_owner_can_read_it(path):
    NotesLog(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_set_aside(path, cut):
    log = NotesLog(path)
    log.append([Note("note_1", AT, "kept")])
    log.append([Note("note_2", AT, "torn")])
    log.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = NotesLog(path)
    assert [line.id for line in again.lines] == ["note_1"]
    again.append([Note("note_3", AT, "new")])
    again.close()
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["note_1", "note_3"]
    assert whole[:-cut].endswith(path.with_name("notes.jsonl.torn").read_bytes().rstrip(b"\n"))


def test_damaged_lines_are_counted_and_kept(path):
    path.write_bytes(b'{"op":"note"}\n\x00\x00\n{"op":"note","id":"a","at":"","content":"x"}\n')
    log = NotesLog(path)
    assert [line.id for line in log.lines] == ["a"]
    assert log.damaged == [1, 2]
    log.close()
    assert path.read_bytes().startswith(b'{"op":"note"}\n')


def test_a_disk_that_fails_leaves_no_half_batch(path, monkeypatch):
    log = NotesLog(path)
    log.append([Note("note_1", AT, "kept")])
    before = path.read_bytes()
    real = os.write

    def half(descriptor, data):
        real(descriptor, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pi_rank.recall.notes.log.os.write", half)
    with pytest.raises(OSError, match="No space"):
        log.append([Note("note_2", AT, "lost")])
    monkeypatch.undo()
    assert path.read_bytes() == before
    log.append([Note("note_3", AT, "later")])
    log.close()
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["note_1", "note_3"]


def test_a_note_that_cannot_be_taken_back_is_kept_and_later_ones_too(path, monkeypatch):
    """Where no descriptor is left, the file is not replaced: later notes would go to the old one."""
    log = NotesLog(path)
    log.append([Note("note_1", AT, "one"), Note("note_2", AT, "two")])

    def none_left(descriptor):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("pi_rank.recall.notes.log.os.dup", none_left)
    with pytest.raises(OSError, match="Too many"):
        log.remove(["note_1"])
    monkeypatch.undo()
    log.append([Note("note_3", AT, "three")])
    log.remove(["note_2"])
    log.append([Note("note_4", AT, "four")])
    log.close()
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == [
        "note_1",
        "note_3",
        "note_4",
    ]
    assert sorted(file.name for file in path.parent.iterdir()) == ["notes.jsonl", "notes.jsonl.lock"]


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
@pytest.mark.parametrize("ending", ["", ".lock", ".torn"])
def test_a_link_in_the_place_of_a_file_of_ours_is_not_followed(path, ending):
    victim = path.with_name("victim")
    victim.write_bytes(b"mine")
    path.with_name(path.name + ending).symlink_to(victim)
    if ending == ".torn":
        path.write_bytes(b'{"half')
    with pytest.raises(StoreError, match="is a link, which is not followed"):
        NotesLog(path)
    assert victim.read_bytes() == b"mine"
    path.with_name(path.name + ending).unlink()
    NotesLog(path).close()  # the lock was let go


def test_one_process_at_a_time(path):
    log = NotesLog(path)
    with pytest.raises(StoreError, match="another process"):
        NotesLog(path)
    log.close()
    NotesLog(path).close()


def test_ids_are_their_own():
    assert len({new_note("x", None, AT).id for _ in range(1000)}) == 1000
    assert new_note("x", "", AT).trigger is None


def test_notes_that_say_the_same_are_one_record():
    book = Notebook()
    for number, content in enumerate(["Blue  lamp", "Blue lamp", " Blue\tlamp", "red lamp"]):
        book.add(Note(f"note_{number}", AT, content, f"t{number}"))
    assert [record.statement for record in book.records()] == ["Blue  lamp", "red lamp"]
    assert book.records()[0].tags == ("t0",)
    (merge,) = book.duplicates()
    assert (merge.into, merge.ids) == ("note_0", ("note_1", "note_2"))
    book.add(merge)
    assert book.duplicates() == []
    assert book.records()[0].tags == ("t0", "t1", "t2")
    assert (book.note_count, book.topic_count) == (4, 2)


def test_a_record_of_a_note_is_clearly_one():
    book = Notebook()
    record = book.add(Note("note_1", AT, "x"))
    assert (record.layer, record.status, record.confidence, record.evidence[0].type) == (
        "L3",
        "active",
        0.5,
        "note",
    )


@given(st.text(), st.text())
def test_same_words_ignores_spacing_only(left, right):
    assert same_words(f" {left}\n") == same_words(left)
    assert same_words(left + " " + right) == same_words(left + "\n\t" + right)


@pytest.mark.parametrize(
    ("one", "other"),
    [("limit is 105", "limit is 10⁵"), ("Hunter2", "hunter2"), ("room №5", "room No5"), ("ﬁne", "fine")],
)
def test_notes_that_differ_are_different(one, other):
    assert same_words(one) != same_words(other)


@pytest.mark.parametrize("note_id", ["", "a b", "a\u202eb", "x" * 65, "a\n"])
def test_a_note_whose_id_cannot_be_shown_costs_itself(path, note_id):
    bad = json.dumps({"op": "note", "id": note_id, "at": AT, "content": "x"})
    path.write_text(bad + "\n" + json.dumps({"op": "note", "id": "b", "at": AT, "content": "y"}) + "\n")
    log = NotesLog(path)
    log.close()
    assert ([line.id for line in log.lines], log.damaged) == (["b"], [1])
