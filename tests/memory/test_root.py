from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pytest

from pi_rank.errors import ConfigError, MemoryRootError, UntrustedWarning
from pi_rank.memory.contents import Skipped
from pi_rank.memory.notes import SessionSummary
from pi_rank.memory.records import Scope
from pi_rank.memory.root import MemoryRoot, find_memory_root
from pi_rank.memory.trusted import trusting
from tests.support.memory_files import L1, L2, TOMBSTONES, line, settle, write

DAY = date(2026, 5, 20)


def read(root):
    return MemoryRoot(root).read()


def ids(contents):
    return [source.record.id for source in contents.records]


def tree(root):
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in sorted(root.rglob("*"))
    }


def test_every_file_of_memory(tmp_path):
    write(tmp_path, L1, line("mem_1"))
    write(tmp_path, L2, line("mem_2"), "", line("mem_3", layer="L1"))
    write(tmp_path, "memory/projects/web.jsonl", line("mem_4"), line("mem_5", scope={"type": "global"}))
    write(tmp_path, "memory/projects/api.jsonl", line("mem_6", scope={"type": "project", "project": "Other"}))
    write(tmp_path, "memory/projects/notes.txt", "not memory")
    write(tmp_path, TOMBSTONES, '{"deleted_record_id": "mem_2", "deletion_mode": "hard"}')
    write(tmp_path, "memory/profiles.jsonl", '{"profile_id": "project:web"}')
    contents = read(tmp_path)
    assert [(s.record.id, s.record.layer, s.file, s.line) for s in contents.records] == [
        ("mem_1", "L1", L1, 1),
        ("mem_2", "L2", L2, 1),
        ("mem_3", "L1", L2, 3),
        ("mem_6", "L2", "memory/projects/api.jsonl", 1),
        ("mem_4", "L2", "memory/projects/web.jsonl", 1),
        ("mem_5", "L2", "memory/projects/web.jsonl", 2),
    ]
    scopes = {source.record.id: source.record.scope for source in contents.records}
    assert scopes["mem_4"] == Scope("project", "web")
    assert scopes["mem_5"] == Scope("global")
    assert scopes["mem_6"] == Scope("project", "Other")
    assert contents.tombstones == {"mem_2"}
    assert contents.profiles == [{"profile_id": "project:web"}]
    assert (contents.skipped, contents.warnings, contents.unreadable) == ([], [], frozenset())


def test_bad_lines_are_skipped_with_their_place_and_the_rest_is_used(tmp_path):
    write(
        tmp_path,
        L2,
        b"\xef\xbb\xbf" + line("mem_bom").encode() + b"\r",
        b"{broken\r",
        b"\x00\x00\x00",
        line("mem_bad", confidence=3),
        line("mem_less", statement=...),
        line("mem_huge", statement="x" * 5_000_000),
        line("mem_half", statement="half an emoji \ud83d"),
        line("mem_last"),
    )
    write(tmp_path, TOMBSTONES, "[]", '{"deleted_record_id": 5}', '{"deleted_record_id": "mem_gone"}')
    contents = read(tmp_path)
    assert ids(contents) == ["mem_bom", "mem_half", "mem_last"]
    assert [(skip.file, skip.line) for skip in contents.skipped] == [
        *((L2, number) for number in (2, 3, 4, 5, 6)),
        (TOMBSTONES, 1),
        (TOMBSTONES, 2),
    ]
    reasons = [skip.reason for skip in contents.skipped]
    assert "got 3" in reasons[2]
    assert reasons[3] == "statement is missing"
    assert "at most 1,048,576" in reasons[4]
    assert reasons[6] == "deleted_record_id: expected an id, got 5"
    assert contents.tombstones == {"mem_gone"}


def test_the_last_of_two_records_with_one_id_is_used_and_both_places_are_said(tmp_path):
    write(tmp_path, L1, line("mem_a", statement="first"), line("mem_b"))
    write(tmp_path, L2, line("mem_a", statement="second"), line("mem_a", statement="third"))
    contents = read(tmp_path)
    assert [(s.record.id, s.record.statement) for s in contents.records] == [
        ("mem_b", "Statement of mem_b"),
        ("mem_a", "third"),
    ]
    assert contents.skipped == [
        Skipped(L1, 1, f"duplicate id 'mem_a': the later record at {L2}:1 is used"),
        Skipped(L2, 1, f"duplicate id 'mem_a': the later record at {L2}:2 is used"),
    ]


@pytest.mark.parametrize("problem", ["does not exist", "is not a folder"])
def test_no_root(tmp_path, problem):
    path = tmp_path / "root"
    if problem == "is not a folder":
        path.write_text("x")
    with pytest.raises(MemoryRootError, match=f"{problem}; give PI's memory folder"):
        read(path)
    with pytest.raises(MemoryRootError, match=problem):
        MemoryRoot(path).unchanged_since({})


def test_a_root_whose_name_is_no_path():
    with pytest.raises(MemoryRootError, match="cannot be read"):
        read("a\0b")


def test_an_empty_root_is_empty_and_says_so(tmp_path):
    contents = read(tmp_path)
    assert (contents.records, contents.tombstones) == ([], frozenset())
    assert contents.warnings == [f"the folder {tmp_path / 'memory'} is missing: is this PI's memory root?"]


def test_folders_in_place_of_files_and_files_in_place_of_folders(tmp_path):
    write(tmp_path, L1, line("mem_1"))
    (tmp_path / L2).mkdir()
    write(tmp_path, "memory/projects", "a file")
    contents = read(tmp_path)
    assert ids(contents) == ["mem_1"]
    assert contents.unreadable == {L2, "memory/projects/"}
    assert len(contents.warnings) == 2
    assert contents.warnings[0].startswith(f"{L2} cannot be read (is a folder, not a file)")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_links_in_a_loop_and_pipes_are_reported_and_never_waited_for(tmp_path):
    write(tmp_path, L1, line("mem_1"))
    os.mkfifo(tmp_path / L2)
    (tmp_path / TOMBSTONES).symlink_to(tmp_path / TOMBSTONES)
    contents = read(tmp_path)
    assert ids(contents) == ["mem_1"]
    assert contents.unreadable == {L2, TOMBSTONES}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_named(tmp_path, encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    write(tmp_path, L2, (mark + line("mem_1")).encode(encoding))
    contents = read(tmp_path)
    assert contents.unreadable == {L2}
    assert "it is UTF-16; save it as UTF-8" in contents.warnings[0]


def test_a_file_name_that_is_not_unicode(tmp_path):
    write(tmp_path, "memory/projects/web.jsonl", line("mem_1"))
    try:
        (tmp_path / "memory/projects" / os.fsdecode(b"\xff.jsonl")).write_text(line("mem_2"))
    except OSError:
        pytest.skip("this file system only takes Unicode names")
    contents = read(tmp_path)
    assert ids(contents) == ["mem_1"]
    assert contents.unreadable == frozenset()
    assert contents.warnings == [
        "memory/projects/'\\udcff.jsonl' is not read: its name is not Unicode; rename it"
    ]


def test_unchanged_files_are_known_without_being_read(tmp_path):
    root = MemoryRoot(tmp_path)
    path = settle(write(tmp_path, L2, line("mem_1")))
    known = root.read().fingerprints
    assert root.unchanged_since(known)
    settle(write(tmp_path, "memory/projects/new.jsonl", line("mem_2")))
    assert not root.unchanged_since(known)
    known = root.read().fingerprints
    assert root.unchanged_since(known)
    path.write_text(line("mem_9"))
    assert not root.unchanged_since(known)
    path.unlink()
    assert not root.unchanged_since(known)


def test_files_are_the_same_to_the_byte_or_not(tmp_path):
    root = MemoryRoot(tmp_path)
    path = write(tmp_path, L2, line("mem_1"))
    known = root.read_files().fingerprints
    settle(path)
    assert root.read_files().hold_the_same(known)
    before = path.stat()
    path.write_text(line("mem_2") + "\n")  # same size, and the same time as on a coarse clock
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not root.read_files().hold_the_same(known)
    path.unlink()
    assert not root.read_files().hold_the_same(known)
    path.mkdir()
    assert not root.read_files().hold_the_same({})


def test_notes_of_a_day(tmp_path):
    write(tmp_path, "scratchpad.md", "- [ ] buy milk\r")
    write(tmp_path, "daily/2026-05-20.md", "# Today", b"\xff")
    write(
        tmp_path,
        "sessions/session-index.jsonl",
        '{"id": "s1", "date": "2026-05-20", "project": "web", "name": null, "firstMessage": "old"}',
        '{"id": "s2", "date": "2026-05-19"}',
        "broken",
        '{"id": "s3", "date": "2026-05-20T10:00:00Z", "decisions": ["use bun"], "other": 1}',
        '{"id": "s1", "date": "2026-05-20", "project": "web", "firstMessage": "new"}',
        '{"id": "s4"}',
    )
    notes = MemoryRoot(tmp_path).notes(DAY)
    assert notes.scratchpad == "- [ ] buy milk\n"
    assert notes.daily == "# Today\n\ufffd\n"
    assert notes.sessions == (
        SessionSummary("s1", "2026-05-20", "web", "", "new"),
        SessionSummary("s3", "2026-05-20T10:00:00Z", decisions=("use bun",)),
    )
    assert [warning.split(" ")[0] for warning in notes.warnings] == [
        "sessions/session-index.jsonl:3",
        "sessions/session-index.jsonl:6",
    ]


def test_sessions_are_the_newest_first_without_the_archived(tmp_path):
    def session(name, **fields):
        return json.dumps({"id": name, "date": "2026-05-20"} | fields)

    write(
        tmp_path,
        "sessions/session-index.jsonl",
        session("undated_1"),
        session("morning", startedAt="2026-05-20T08:00:00.000Z"),
        session("put away", startedAt="2026-05-20T23:00:00.000Z", archived=True),
        session("evening", startedAt="2026-05-20T19:30:00.000Z", archived=False),
        session("undated_2"),
        session("noon", startedAt="2026-05-20T12:00:00.000Z"),
    )
    names = [session.id for session in MemoryRoot(tmp_path).notes(DAY).sessions]
    assert names == ["evening", "noon", "morning", "undated_1", "undated_2"]


@pytest.mark.parametrize(
    ("cwd", "project", "name"),
    [
        ("/home/me/my-app", "app", "my-app"),
        ("C:\\work\\my-app\\", "app", "my-app"),
        ("/home/me/app", "app", "app"),
        ("/home/me/my-app/web", "web", "web"),
        ("/home/me/other", "app", "app"),
        ("", "app", "app"),
        ("/home/me/my-app", "", ""),
    ],
)
def test_a_session_names_the_whole_folder(cwd, project, name):
    assert SessionSummary("s", "2026-05-20", project=project, cwd=cwd).project_name == name


def test_notes_follow_their_files_and_the_day(tmp_path):
    root = MemoryRoot(tmp_path)
    assert root.notes(DAY).scratchpad == root.notes(DAY).daily == ""
    write(tmp_path, "scratchpad.md", "one")
    write(tmp_path, "daily/2026-05-20.md", "Wednesday")
    write(tmp_path, "daily/2026-05-21.md", "Thursday")
    assert (root.notes(DAY).scratchpad, root.notes(DAY).daily) == ("one\n", "Wednesday\n")
    assert root.notes(date(2026, 5, 21)).daily == "Thursday\n"
    (tmp_path / "scratchpad.md").unlink()
    (tmp_path / "scratchpad.md").mkdir()
    notes = root.notes(DAY)
    assert notes.scratchpad == "one\n"
    assert notes.warnings == (
        "scratchpad.md cannot be read (is a folder, not a file); what it last said is used",
    )
    assert MemoryRoot(tmp_path).notes(DAY).warnings == (
        "scratchpad.md cannot be read (is a folder, not a file); it is left out",
    )


def test_no_more_than_some_lines_of_the_session_index_are_named(tmp_path):
    write(tmp_path, "sessions/session-index.jsonl", *["broken"] * 1_000)
    warnings = MemoryRoot(tmp_path).notes(DAY).warnings
    assert len(warnings) == 6
    assert warnings[-1] == "sessions/session-index.jsonl: 995 more of its lines are skipped"


def test_config_is_read_live(tmp_path):
    root = MemoryRoot(tmp_path)
    assert root.config().max_records == 12
    write(tmp_path, "config.json", '{"retrieval": {"maxRecords": 6}}')
    assert root.config().max_records == 6
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").mkdir()
    assert root.config().max_records == 6
    assert root.config().warnings == (
        "config.json cannot be read (is a folder, not a file); what it last said is used",
    )


def test_nothing_is_written(tmp_path):
    write(tmp_path, L2, line("mem_1"), "broken")
    write(tmp_path, "config.json", "{}")
    write(tmp_path, "scratchpad.md", "x")
    before = tree(tmp_path)
    root = MemoryRoot(tmp_path)
    contents = root.read()
    root.unchanged_since(contents.fingerprints)
    root.notes(DAY)
    root.config()
    assert tree(tmp_path) == before


def test_where_the_root_is(tmp_path, monkeypatch):
    monkeypatch.delenv("PI_MEMORY_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    default = tmp_path / "home" / ".pi" / "agent" / "pi-memory"
    assert find_memory_root() == default
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    assert find_memory_root(working_directory=project) == default
    settings = write(project, ".pi/settings.json", '{"localPath": "~/.pi/mine"}')
    assert find_memory_root(working_directory=project / "src") == tmp_path / "home/.pi/mine"
    settings.write_text('{"pi-persistent-intelligence": {"localPath": "/elsewhere"}}')
    with trusting(everything=True):
        assert find_memory_root(None, project) == Path("/elsewhere")
    with pytest.warns(UntrustedWarning, match="/elsewhere"):
        assert find_memory_root(None, project) == default
    monkeypatch.setenv("PI_MEMORY_ROOT", str(tmp_path / "env"))
    assert find_memory_root(None, project) == tmp_path / "env"
    assert find_memory_root(tmp_path / "given", project) == tmp_path / "given"
    monkeypatch.setenv("PI_MEMORY_ROOT", "")
    settings.write_text("{")
    with pytest.raises(ConfigError, match=r"settings\.json"):
        find_memory_root(None, project)
