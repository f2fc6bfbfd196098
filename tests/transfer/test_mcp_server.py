"""The MCP memory server itself, unchanged: it reads what we export, and we read what it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import pi_rank
from pi_rank.memory.root import MemoryRoot
from pi_rank.sources.registry import open_sources, parse_spec
from pi_rank.transfer.exporting import exported, write_new, written

SERVER = "mcp-memory/node_modules/@modelcontextprotocol/server-memory/dist/index.js"

CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "pi-rank tests", "version": "1"},
}


@pytest.fixture
def ask(home):
    """Calls tools of the server on a file, in turn; their answers."""
    folder = os.environ.get("PI_RANK_AGENTS")
    if not folder or not Path(folder, SERVER).is_file() or shutil.which("node") is None:
        pytest.skip("PI_RANK_AGENTS names no folder with the MCP memory server (see CONTRIBUTING.md)")

    def call(path, *tools):
        process = subprocess.Popen(
            ["node", str(Path(folder, SERVER).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MEMORY_FILE_PATH": str(path)},
            encoding="utf-8",
        )
        with process:
            send(process, {"id": 0, "method": "initialize", "params": CLIENT})
            process.stdout.readline()
            send(process, {"method": "notifications/initialized"})
            answers = []
            for number, (name, arguments) in enumerate(tools, 1):
                params = {"name": name, "arguments": arguments}
                send(process, {"id": number, "method": "tools/call", "params": params})
                answers.append(json.loads(process.stdout.readline())["result"])
            process.kill()
        return [json.loads(answer["content"][0]["text"]) for answer in answers]

    return call


def send(process, message):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def test_the_server_reads_what_we_export(home, ask):
    records = exported(MemoryRoot(Path(pi_rank.__file__).parent / "sample"))
    write_new(home / "out.jsonl", written(records, "mcp"))
    (graph,) = ask(home / "out.jsonl", ("read_graph", {}))
    said = [observation for entity in graph["entities"] for observation in entity["observations"]]
    assert sorted(said) == sorted(" ".join(record.statement.split()) for record in records)


def test_we_read_what_the_server_writes(home, ask):
    entities = [
        {"name": "Mina", "entityType": "person", "observations": ["speaks Portuguese", "名前"]},
        {"name": "orchard api", "entityType": "service", "observations": ["FastAPI"]},
    ]
    relations = [{"from": "Mina", "to": "orchard api", "relationType": "works_on"}]
    added = [{"entityName": "orchard api", "contents": ["uses PostgreSQL 16"]}]
    *_, graph = ask(
        home / "memory.jsonl",
        ("create_entities", {"entities": entities}),
        ("create_relations", {"relations": relations}),
        ("add_observations", {"observations": added}),
        ("read_graph", {}),
    )
    source = parse_spec(f"mcp-memory={home / 'memory.jsonl'}", home)
    contents = MemoryRoot(home / "none", opener=open_sources, sources=[source]).read()
    assert contents.skipped == []
    assert [each.record.statement for each in contents.records] == [
        *("Mina: speaks Portuguese", "Mina: 名前", "orchard api: FastAPI", "orchard api: uses PostgreSQL 16"),
        "Mina works on orchard api",
    ]
    again = written([each.record for each in contents.records], "mcp").decode().splitlines()
    assert [json.loads(line) for line in again] == [
        *({"type": "entity", **entity} for entity in graph["entities"]),
        *({"type": "relation", **relation} for relation in graph["relations"]),
    ]
