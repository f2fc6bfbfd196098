"""Several sources in one root: one store, one ranking, one block, and traces that say where from."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

from pi_rank import MemoryEngine
from pi_rank.errors import ConfigError, UntrustedWarning
from pi_rank.memory.files import Fingerprint
from pi_rank.memory.sources.protocol import SourceFile, SourceLine, SourceReading, SourceSpec
from pi_rank.sources import registry
from tests.sources.roots import ask, configured, engine_of, left_out, shown, statements, write
from tests.sources.sampled import lay_out

PROMPT = "Which database do the tests of orchard need, and who owns the service?"


@pytest.fixture
def three(home):
    """A project's rules, Claude Code's own notes, and a file of the MCP server."""
    orchard = lay_out("instructions", home / "work/orchard")
    (orchard / ".git").mkdir()
    lay_out("claude-memory", home / ".claude/projects")
    lay_out("mcp-memory", home / ".mcp")
    name = str(orchard).replace("/", "-").replace("_", "-").replace(".", "-")
    (home / ".claude/projects/-home-mina-work-orchard").rename(home / f".claude/projects/{name}")
    return orchard


def test_a_mixed_root_of_three_sources_answers_a_turn_with_traces_that_name_them(home, three):
    entries = ["claude-memory", {"source": "mcp-memory", "path": "~/.mcp/memory.jsonl"}]
    records = [{"id": "mem_own", "statement": "The tests of orchard take two minutes."}]
    with configured(home, *entries, {"source": "agents-md", "path": str(three)}, records=records) as engine:
        from pi_rank.memory.trusted import trusting

        with trusting(True):
            engine.sync()
            result = ask(engine, PROMPT, three, reader="codex")
    found = {hit.id.rpartition("-")[0] or "pi": hit.record for hit in result.selected}
    assert set(found) == {"pi", "claude-memory", "mcp-memory"}
    assert found["mcp-memory"].evidence[0].ref.startswith("~/.mcp/memory.jsonl:")
    assert found["claude-memory"].evidence[0].type == "claude-memory"
    reasons = left_out(result)
    assert {id_.rpartition("-")[0]: why for id_, why in reasons.items()} == {"agents-md": "read_by:codex"}
    assert "mcp-memory-" in result.markdown


def test_claudes_notes_are_for_their_project_and_who_the_user_is_for_all(home, three):
    with engine_of(home, "claude-memory") as engine:
        inside = ask(engine, "integration tests with mocks?", three / "services")
        assert [text for text in shown(inside) if "mocks" in text]
        outside = ask(engine, "integration tests with mocks?", home / "work/lumen")
        assert [text.partition(":")[0] for text in shown(outside)] == ["Mina"]


def test_the_same_record_from_two_sources_counts_once(home, three, capsys):
    write(three / "GEMINI.md", "# Style\n- Use `uv`, never pip.\n- Migrations ship one release early.\n")
    write(three / "CLAUDE.md", "# Style\n- Use `uv`, never pip.\n- Migrations ship one release early.\n")
    with engine_of(home, f"claude-md={three}", f"gemini-md={three}") as engine:
        assert statements(engine).count("Use `uv`, never pip.") == 1
        (said,) = (line for line in engine.sync().skipped if "used once" in line.reason)
        assert said.file == "gemini-md:~/work/orchard//GEMINI.md"
        assert said.reason == "2 records from here on, as in claude-md:~/work/orchard//CLAUDE.md: used once"
        # Who reads either file has read it.
        for reader in ("claude-code", "gemini-cli"):
            assert "Use `uv`, never pip." not in shown(ask(engine, "uv or pip?", three, reader=reader))
        assert "Use `uv`, never pip." in shown(ask(engine, "uv or pip?", three, reader="codex"))


def test_the_same_source_twice_is_one(home, three):
    with configured(home, "claude-memory", "claude-memory") as engine:
        engine.sync()
        assert len(statements(engine)) == 5


def test_a_change_of_the_configuration_is_a_change_of_the_memory(home, three):
    with configured(home, "claude-memory") as engine:
        assert engine.sync().added == 5
        assert engine._root.unchanged_since(engine._store.known_files(engine._root))
        write(engine.root / "config.json", '{"sources": []}')
        assert engine.sync().removed == 5


def test_what_config_says_wrong_is_named(home, three):
    with configured(home, "claude-memory", 7, {"source": "mem0", "path": ""}) as engine:
        engine.sync()
        assert len(statements(engine)) == 5
        warnings = ask(engine, PROMPT).stats["warnings"]
        assert [text for text in warnings if text.startswith("config.json: sources: expected a name")]
    with configured(home, "nonsense", "mem0", {"source": "mem0", "path": "gone.json"}) as engine:
        report = engine.sync()
        assert [text.partition(",")[0].partition("(")[0] for text in report.warnings] == [
            "the source nonsense is left out: there is no source 'nonsense'; there are instructions",
            "the source mem0 is left out: mem0 needs a path",
            f"mem0:{'~/.pi/agent/pi-memory/gone.json'} cannot be read ",
        ]


def test_a_source_that_cannot_be_opened_keeps_what_it_held(home, three):
    with configured(home, "claude-memory") as engine:
        engine.sync()
        write(engine.root / "config.json", '{"sources": ["claude-memoryy"]}')
        report = engine.sync()
        assert (report.removed, len(report.warnings)) == (0, 1)
        write(engine.root / "config.json", '{"sources": ["claude-memory"]}')
        assert engine.sync().warnings == ()


def test_explicit_sources_have_a_store_of_their_own(home, three):
    with configured(home, records=[{"id": "mem_own", "statement": "Own."}]) as engine:
        engine.sync()
        own = engine.store_path
    with engine_of(home, f"agents-md={three}") as engine:
        assert engine.store_path != own


def test_notes_outside_of_hidden_folders_want_trust_that_follows(home, capsys):
    from pi_rank.cli.program import main

    lay_out("basic-memory", home / "basic-memory")
    with configured(home, "basic-memory") as engine:
        with pytest.warns(UntrustedWarning, match=r"pi-rank trust --follow .*basic-memory"):
            engine.sync()
        assert statements(engine) == []
        assert main(["trust", str(home / "basic-memory")]) == 1
        assert "--follow" in capsys.readouterr().err
        assert main(["trust", "--follow", str(home / "basic-memory")]) == 0
        assert engine.sync().added == 5


class Calendar:
    """A source of another package: one record, from no file."""

    label = "calendar:work"
    said = "The release is on Thursday."

    def records(self, known):
        fields = {"id": "calendar-1", "statement": self.said, "confidence": 1.0}
        seen = Fingerprint(0, 0, self.said.encode(), True)
        lines = [SourceLine(3, fields), SourceLine(4, {"id": "calendar-2", "statement": "x"})]
        return SourceReading([SourceFile("today.ics", seen, lines)])

    def changed_since(self, known):
        return known["today.ics"].digest != self.said.encode()


def open_calendar(spec, folder):
    """What an entry point names."""
    if spec.path != "work":
        raise ConfigError(f"no calendar {spec.path}")
    return [Calendar()]


def test_a_package_adds_a_source(home, monkeypatch):
    point = EntryPoint("calendar", f"{__name__}:open_calendar", registry.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: open_calendar)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    assert registry.source_names()["calendar"].endswith("open_calendar")
    with configured(home, {"source": "calendar", "path": "work"}) as engine:
        report = engine.sync()
        assert statements(engine) == ["The release is on Thursday."]
        assert [(line.line, line.reason) for line in report.skipped] == [(4, "confidence is missing")]
        assert engine._root.unchanged_since(engine._store.known_files(engine._root))
        monkeypatch.setattr(Calendar, "said", "The release is on Friday.")
        assert engine.sync().changed == 1
    with pytest.raises(ConfigError, match="no calendar"):
        registry.open_sources(SourceSpec("calendar", "home"), home)


def test_a_package_that_cannot_be_loaded_costs_itself(home, monkeypatch):
    point = EntryPoint("broken", "no_such_package_of_ours:open", registry.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    with configured(home, "broken", records=[{"id": "mem_own", "statement": "Own."}]) as engine:
        report = engine.sync()
        assert statements(engine) == ["Own."]
        assert "cannot be loaded" in report.warnings[0]


def test_a_memory_that_is_half_written_keeps_what_it_held(home, three):
    memory = home / ".mcp/memory.jsonl"
    with engine_of(home, f"mcp-memory={memory}") as engine:
        assert engine.sync().unchanged == 4
        whole = memory.read_bytes()
        with memory.open("r+b") as file:  # in place, as some servers write
            file.truncate(len(whole) // 3)
        report = engine.sync()
        assert (report.removed, "is being written" in report.warnings[0]) == (0, True)
        memory.unlink()
        assert "what it held is kept" in engine.sync().warnings[0]
        write(memory, json.dumps({"type": "entity", "name": "a", "entityType": "b", "observations": ["c"]}))
        assert (engine.sync().removed, statements(engine)) == (4, ["a: c"])


@pytest.mark.parametrize(
    ("source", "text", "reason"),
    [
        ("mem0", "[" * 100_000, "not JSON"),
        ("mem0", '{"results": {}}', "expected a list of memories"),
        ("mem0", "", "not JSON"),
        ("mcp-memory", '{"type": "entity", "name": 3}', "name: expected a text"),
        (
            "mcp-memory",
            '{"type": "entity", "name": "a", "entityType": "b", "observations": [3]}',
            "observations",
        ),
        ("mcp-memory", "\0\1", "is no text"),
    ],
)
def test_files_that_are_none_are_named(home, source, text, reason):
    write(home / "x/file.json", text)
    with engine_of(home, f"{source}={home / 'x/file.json'}") as engine:
        (skipped,) = engine.sync().skipped
        assert (skipped.line, skipped.reason[: len(reason)]) == (1, reason)


def test_50_mb_of_the_mcp_server_are_read(home):
    line = json.dumps({"type": "entity", "name": "e", "entityType": "t", "observations": ["x" * 900_000]})
    write(home / "x/memory.jsonl", f"{line}\n" * 60)
    with engine_of(home, f"mcp-memory={home / 'x/memory.jsonl'}") as engine:
        assert (home / "x/memory.jsonl").stat().st_size > 50 << 20
        assert engine.status()["records"] == 1
        assert engine.sync().skipped[0].reason.startswith("59 records from here on")


def test_a_configuration_that_came_with_a_repository_opens_nothing_of_the_users(home, three):
    from tests.support.memory import write_root

    theirs = write_root(home / "work/repo/mem", [], config={"sources": ["claude-memory"]})
    with MemoryEngine.open(theirs, model=None) as engine:
        with pytest.warns(UntrustedWarning, match=r"\.claude/projects is not trusted yet"):
            engine.sync()
        assert statements(engine) == []
    with MemoryEngine.open(theirs, model=None, sources=[SourceSpec("claude-memory")]) as engine:
        engine.sync()
        assert len(statements(engine)) == 5
