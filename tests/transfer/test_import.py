"""A new root from other memory: PI takes every line of it, and nothing that is there is touched."""

from __future__ import annotations

import json
import os
from datetime import date

import pytest

from pi_rank import MemoryEngine
from pi_rank.cli.program import main
from pi_rank.errors import ConfigError
from pi_rank.sources.registry import parse_spec
from pi_rank.transfer import importing
from pi_rank.transfer.importing import import_memory
from tests.reference.files.pi_files import record_fault
from tests.sources.roots import ask, shown, write
from tests.sources.sampled import CASES, lay_out

TODAY = date(2026, 6, 30)


def source_of(name, home):
    source, sample, place, *file = CASES[name]
    lay_out(sample, home / place)
    return parse_spec(f"{source}={home.joinpath(place, *file)}", home)


def lines(root):
    return {
        path.relative_to(root).as_posix(): [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(root.rglob("*.jsonl"))
    }


@pytest.mark.parametrize("name", CASES)
def test_pi_takes_every_line(name, home):
    done = import_memory([source_of(name, home)], home, home / "new", TODAY)
    written = lines(home / "new")
    assert {file: len(records) for file, records in written.items()} == done.files
    for records in written.values():
        for record in records:
            assert record_fault(record) is None, record
            assert "read_by" not in record
            assert record["review"]["next_review"] == "2026-09-28"


def test_the_new_root_answers(home, monkeypatch):
    sources = [source_of("claude-memory", home), source_of("mcp-memory", home), source_of("mem0", home)]
    import_memory(sources, home, home / "new", TODAY)
    with MemoryEngine.open(home / "new", model=None) as engine:
        report = engine.sync()
        assert (report.skipped, report.warnings) == ((), ())
        assert "orchard-api: Runs on PostgreSQL 16" in shown(ask(engine, "which PostgreSQL?", home))


def test_folders_become_their_project(home):
    orchard = lay_out("instructions", home / "work/orchard")
    (orchard / ".git").mkdir()
    lay_out("claude-memory", home / ".claude/projects")
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(orchard))
    (home / ".claude/projects/-home-mina-work-orchard").rename(home / f".claude/projects/{name}")
    specs = [parse_spec(text, home) for text in (f"instructions={orchard}", "claude-memory")]
    import_memory(specs, home, home / "new", TODAY)
    written = lines(home / "new")
    assert list(written) == ["memory/L1.identity.jsonl", "memory/projects/orchard.jsonl"]
    scopes = {json.dumps(record["scope"]) for record in written["memory/projects/orchard.jsonl"]}
    assert scopes == {'{"type": "project", "project": "orchard"}'}
    with MemoryEngine.open(home / "new", model=None) as engine:
        engine.sync()
        said = "Handlers return problem+json errors."
        assert said in shown(ask(engine, "handlers and problem+json", orchard))
        assert said not in shown(ask(engine, "handlers and problem+json", home / "work/lumen"))


def test_a_project_that_is_nowhere_keeps_its_name(home):
    import_memory([source_of("claude-memory", home)], home, home / "new", TODAY)
    names = [
        record["scope"].get("project")
        for record in lines(home / "new")["memory/projects/home-mina-work-orchard.jsonl"]
    ]
    assert set(names) == {"/-home-mina-work-orchard"}


@pytest.mark.parametrize("what", ["file", "folder", *(["link", "broken link"] if os.name == "posix" else [])])
def test_nothing_that_is_there_is_touched(home, what):
    spec, to = source_of("hermes", home), home / "new"
    if what == "file":
        write(to, "mine")
    elif what == "folder":
        write(to / "memory/L2.playbooks.jsonl", "mine")
    else:
        if what == "link":
            (home / "elsewhere").mkdir()
        to.symlink_to(home / "elsewhere")
    before = sorted(home.rglob("*"))
    with pytest.raises(ConfigError, match="is there already"):
        import_memory([spec], home, to, TODAY)
    assert sorted(home.rglob("*")) == before


def test_an_empty_folder_may_be_filled(home):
    (home / "new").mkdir()
    import_memory([source_of("hermes", home)], home, home / "new", TODAY)
    assert list(lines(home / "new"))


def test_files_that_come_meanwhile_stay_and_nothing_is_left_behind(home, monkeypatch):
    spec = source_of("hermes", home)
    real = importing.replace_private

    def meddling(path, data):
        real(path, data)
        write(home / "new/memory/L1.identity.jsonl", "mine")

    monkeypatch.setattr(importing, "replace_private", meddling)
    with pytest.raises(OSError):
        import_memory([spec], home, home / "new", TODAY)
    assert (home / "new/memory/L1.identity.jsonl").read_text() == "mine"
    assert [path.name for path in home.iterdir() if path.name.endswith(".tmp")] == []


def test_a_disk_that_is_full_leaves_nothing(home, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    spec = source_of("hermes", home)
    monkeypatch.setattr(importing, "replace_private", full)
    with pytest.raises(OSError, match="No space"):
        import_memory([spec], home, home / "new", TODAY)
    assert not (home / "new").exists()
    assert [path.name for path in home.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nonsense=x", "there is no source 'nonsense'"),
        ("mem0", "mem0 needs a path"),
        ("mem0=gone.json", "cannot be read"),
        ("hermes=", "is no source"),
        ("obsidian=empty", "there is no record to import"),
    ],
)
def test_what_cannot_be_imported_says_why(home, given, said, monkeypatch, capsys):
    (home / "empty").mkdir()
    monkeypatch.chdir(home)
    assert main(["import", given, "--to", "new"]) == 1
    assert said in capsys.readouterr().err
    assert not (home / "new").exists()


def test_the_command(home, monkeypatch, capsys):
    source_of("mcp-memory", home)
    monkeypatch.chdir(home)
    assert main(["import", "mcp-memory=.mcp/memory.jsonl", "--to", "new"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{home / 'new/memory/L2.playbooks.jsonl'}: 4 records\n"
    assert "skipped mcp-memory:~/.mcp/memory.jsonl//memory.jsonl:7: not JSON" in err
    assert main(["import", "mcp-memory=.mcp/memory.jsonl", "--to", "other", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"memory/L2.playbooks.jsonl": 4}
    if os.name == "posix":
        assert (home / "new").stat().st_mode & 0o077 == 0
