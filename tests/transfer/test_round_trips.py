"""Out of a root and back: JSON lines lose nothing, a graph comes back as it was, Markdown says the same."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi_rank
from pi_rank.cli.program import main
from pi_rank.memory.root import MemoryRoot
from pi_rank.sources.registry import open_sources, parse_spec
from pi_rank.transfer.exporting import exported, write_new, written
from pi_rank.transfer.importing import import_memory
from tests.sources.roots import write

SAMPLE = pi_rank.__path__[0] + "/sample"
TODAY = date(2026, 6, 30)


def records_of(folder, *sources):
    specs = [parse_spec(source, folder) for source in sources] or None
    return exported(MemoryRoot(folder, opener=open_sources, sources=specs), everything=True)


def imported(home, source, name="new"):
    import_memory([parse_spec(source, home)], home, home / name, TODAY)
    return home / name


def by_id(records):
    return {record.id: record for record in records}


def test_json_lines_lose_nothing(home):
    records = records_of(SAMPLE)
    write_new(home / "out.jsonl", written(records, "jsonl"))
    assert by_id(records_of(imported(home, "jsonl=out.jsonl"))) == by_id(records)
    assert by_id(records_of(home / "none", f"jsonl={home / 'out.jsonl'}")) == by_id(records)


def test_markdown_says_the_same(home):
    records = records_of(SAMPLE)
    (home / "notes").mkdir()
    write_new(home / "notes/Memory.md", written(records, "markdown"))
    back = records_of(home / "none", f"basic-memory={home / 'notes'}")
    said = sorted(record.statement.removeprefix("Memory: ") for record in back)
    expected = {" ".join(record.statement.split()) for record in records}
    missing = expected - set(said)
    assert missing == set()
    assert {record.rule_type for record in records} - {None} <= {record.rule_type for record in back}


def graph(data):
    """Entity → its type and observations; the relations."""
    items = [json.loads(line) for line in data.splitlines()]
    entities = {
        each["name"]: (each["entityType"], each["observations"]) for each in items if each["type"] == "entity"
    }
    return entities, [each for each in items if each["type"] == "relation"]


def entity(name, kind, *observations):
    return {"type": "entity", "name": name, "entityType": kind, "observations": observations}


def relation(start, kind, end):
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


def write_graph(path, items):
    return write(path, "".join(f"{json.dumps(item)}\n" for item in items))


def test_a_graph_comes_back_as_it_was(home):
    relations = [relation("Mina", "works_on", "orchard api"), relation("orchard api", "is known to", "Mina")]
    entities = [
        entity("Mina", "person", "speaks  Portuguese", "Mina: x", "mina is on call"),
        entity("orchard api", "service", "is FastAPI", "名前"),
    ]
    write_graph(home / "in.jsonl", [*entities, *relations])
    root = imported(home, "mcp-memory=in.jsonl")
    found, related = graph(written(records_of(root), "mcp"))  # with single blanks, as all statements
    assert found == {
        "Mina": (
            "person",
            ["speaks Portuguese", "Mina: x", "mina is on call"],
        ),
        "orchard api": ("service", ["is FastAPI", "名前"]),
    }
    assert related == relations


WORDS = st.text("abcXYZ0_-äß名", min_size=1, max_size=6)
TEXTS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
OBSERVED = st.lists(TEXTS, min_size=1, max_size=3, unique_by=str.casefold)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(TEXTS, st.tuples(TEXTS, OBSERVED), min_size=1, max_size=4))
def test_any_graph_comes_back(tmp_path_factory, entities):
    folder = tmp_path_factory.mktemp("graph")
    write_graph(folder / "in.jsonl", [entity(name, kind, *said) for name, (kind, said) in entities.items()])
    records = records_of(folder / "none", f"mcp-memory={folder / 'in.jsonl'}")
    found = graph(written(records, "mcp"))[0]
    for name, (kind, said) in found.items():
        assert kind == entities[name][0]
        assert set(said) <= set(entities[name][1])
    # What says the same sentence is there once.
    assert sum(len(said) for _, said in found.values()) == len(records)


def test_pis_memory_as_a_graph_is_read_again(home):
    records = records_of(SAMPLE)
    write_new(home / "out.jsonl", written(records, "mcp"))
    assert {"memory", "orchard-api"} <= graph((home / "out.jsonl").read_text(encoding="utf-8"))[0].keys()
    back = records_of(home / "none", f"mcp-memory={home / 'out.jsonl'}")
    said = {record.statement.removeprefix(f"{record.tags[0]}: ") for record in back}
    assert {" ".join(record.statement.split()) for record in records} == said


def test_the_command_writes_what_is_active_and_never_over_a_file(home, capsysbinary, monkeypatch):
    monkeypatch.chdir(home)
    assert main(["export", "--root", SAMPLE]) == 0
    active = capsysbinary.readouterr().out.splitlines()
    assert all(json.loads(line)["status"] == "active" for line in active)
    assert main(["export", "--root", SAMPLE, "--all", "-o", "all.jsonl"]) == 0
    assert len((home / "all.jsonl").read_text().splitlines()) > len(active)
    capsysbinary.readouterr()
    assert main(["export", "--root", SAMPLE, "-o", "all.jsonl"]) == 1
    assert b"all.jsonl is there already" in capsysbinary.readouterr().err
    assert main(["export", "--root", SAMPLE, "--as", "markdown", "-o", "gone/x.md"]) == 1
    assert sorted(path.name for path in home.iterdir()) == ["all.jsonl"]
    capsysbinary.readouterr()
    assert main(["export", "--root", SAMPLE, "--as", "mcp", "--json"]) == 0
    answer = json.loads(capsysbinary.readouterr().out)
    assert (answer["as"], answer["records"]) == ("mcp", len(active))
    assert len(graph(answer["text"])[0]) > 1


@pytest.mark.parametrize("form", ["jsonl", "markdown", "mcp"])
def test_an_empty_memory_is_an_empty_file(home, form):
    assert written([], form).count(b"- [") == 0
