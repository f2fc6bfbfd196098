"""The MCP server, driven by the SDK's own client over both transports, and its plain HTTP routes."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("mcp_types", reason="the MCP SDK, version 2")

from mcp import Client, StdioServerParameters

from pi_rank.qmd.mcp.schemas import TOOLS
from pi_rank.qmd.mcp.tools import Tools
from pi_rank.qmd.paths import places
from pi_rank.qmd.warm.warm import Warm
from tests.support.memory import write_root

SHARED = os.environ.get("PI_RANK_SHARED")
C = "pi-persistent-intelligence"
RECORDS = [
    {"id": "mem_deploy", "statement": "Never deploy on Friday.", "tags": ["release"]},
    {"id": "mem_other", "statement": "Deploy with care.", "does_not_apply_when": ["friday"]},
    {"id": "mem_tests", "statement": "Run bun test before every commit."},
]


@pytest.fixture
def served(world):
    """A world with documents and memory, and the command that serves it."""
    world.ok("collection", "add", str(world.documents()), "--name", C)
    world.ok("context", "add", f"qmd://{C}/sub", "Rendered long-term memory projections")
    root = write_root(world.home / "root", RECORDS)
    world.ok("collection", "add", str(root), "--name", "memory")
    world.ok("collection", "exclude", "memory")
    return world


def command(world, *argv):
    boot = (
        f"import sys; sys.path.insert(0, {str(Path.cwd())!r}); from pi_rank.cli import main; sys.exit(main())"
    )
    return [sys.executable, "-c", boot, *argv]


@contextmanager
def http_server(world, *options):
    """A server on a free port, as (base address, process)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = command(world, "mcp", "--http", "--port", str(port), *options)
    server = subprocess.Popen(argv, env=world.environment, stderr=subprocess.PIPE, text=True)
    try:
        base = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 30
        while status(f"{base}/health")[0] != 200:
            assert time.monotonic() < deadline and server.poll() is None, server.stderr.read()
            time.sleep(0.1)
        yield base
    finally:
        server.terminate()
        server.wait(20)
        server.stderr.close()


def status(url, data=None, **headers):
    """(HTTP status, body)."""
    body = None if data is None else (data if isinstance(data, bytes) else json.dumps(data).encode())
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def announced(base, path, size):
    """HTTP status for a body of which only the size is sent: a refusal does not wait for the rest."""
    connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=20)
    try:
        connection.putrequest("POST", path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


async def drive(client):
    """Every tool, the resources, and what goes wrong."""
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == [
        "query",
        "get",
        "multi_get",
        "status",
        "recall",
        "explain",
    ]
    assert all(tool.annotations.read_only_hint for tool in listed.tools)

    async def call(name, **arguments):
        return await client.call_tool(name, arguments)

    asked = [{"type": "lex", "query": "deploy friday"}]
    found = await call("query", searches=asked, collections=[C], rerank=False, limit=2)
    rows = found.structured_content["results"]
    assert [list(row) for row in rows] == [
        ["docid", "file", "title", "score", "context", "line", "snippet"]
    ] * 2
    assert rows[0]["docid"] == "#06e0b3" and rows[0]["file"] == f"{C}/mem_20260101_deploy.md"
    assert (rows[0]["line"], rows[0]["context"]) == (5, None)
    assert rows[0]["snippet"].splitlines()[0] == "5: @@ -4,3 @@ (3 before, 0 after)"
    assert found.content[0].text.startswith('Found 2 results for "deploy friday":\n\n#06e0b3 ')

    plain = await call("query", query="when may I deploy", minScore=0.1)
    assert plain.structured_content["results"] and not plain.is_error

    for arguments in (
        {},
        {"query": "x", "searches": asked},
        {"query": "x", "limit": "many"},
        {"searches": ["x"]},
    ):
        assert (await client.call_tool("query", arguments)).is_error
    unknown = await call("query", query="x", collections=["nope"])
    assert unknown.is_error and "Collection not found: nope" in unknown.content[0].text

    got = (await call("get", file="sub/beta.md", fromLine=4, maxLines=3)).content[0].resource
    assert got.uri == f"qmd://{C}/sub/beta.md" and got.mime_type == "text/markdown"
    assert got.text == (
        "<!-- Context: Rendered long-term memory projections -->\n\n"
        '4: # Python style, "quoted" & <tagged>\n5: \n6: - Prefer f-strings over percent formatting.'
    )
    ranged = (await call("get", file="#872703:3:1", lineNumbers=False)).content[0].resource
    assert ranged.text == "Always run the full test suite before a deploy."
    missing = await call("get", file="zzz.md")
    assert missing.is_error and missing.content[0].text.startswith("Document not found: zzz.md")

    several = await call("multi_get", pattern="alpha.md,nothere.md", maxLines=2)
    assert several.content[0].text == "Errors:\nFile not found: nothere.md"
    assert several.content[1].resource.text == (
        "1: # Deploy checklist\n2: \n3: \n4: [... truncated 7 more lines]"
    )
    assert (await call("multi_get", pattern="zzz*")).is_error
    skipped = await call("multi_get", pattern="*.md", maxBytes=101)
    assert len(skipped.content) == 3 and "Skipped" in skipped.content[0].text

    state = (await call("status")).structured_content
    assert state["totalDocuments"] == 8
    assert [row["documents"] for row in state["collections"]] == [5, 3]

    recalled = (await call("recall", query="deploy on friday", limit=2)).structured_content["results"]
    assert recalled[0]["id"] == "mem_deploy"
    assert {source["source"] for source in recalled[0]["sources"]} >= {"lexical"}
    explained = await call("explain", prompt="should I deploy on friday?")
    reasons = {}
    for trace in explained.structured_content["traces"]:
        reasons.update(trace["exclusion_reasons"])
    assert reasons == {"mem_other": "does_not_apply_when:friday"}
    assert "mem_deploy" in explained.structured_content["markdown"]

    templates = await client.list_resource_templates()
    assert [template.uri_template for template in templates.resource_templates] == ["qmd://{+path}"]
    read = await client.read_resource(f"qmd://{C}/alpha.md")
    assert read.contents[0].text.startswith("1: # Deploy checklist\n")
    with pytest.raises(Exception, match="not found"):
        await client.read_resource(f"qmd://{C}/nothing.md")
    with pytest.raises(Exception, match="Tool search not found"):
        await call("search", query="x")


def test_stdio(served):
    argv = command(served, "mcp")

    async def run():
        server = StdioServerParameters(command=argv[0], args=argv[1:], env=served.environment)
        async with Client(server) as client:
            await drive(client)

    asyncio.run(asyncio.wait_for(run(), 120))


def test_http(served):
    async def run(base):
        async with Client(f"{base}/mcp") as client:
            await drive(client)

    with http_server(served) as base:
        asyncio.run(asyncio.wait_for(run(base), 120))


def test_plain_routes_and_foreign_requests(served):
    asked = {"searches": [{"type": "lex", "query": "ruff"}], "limit": 1}
    with http_server(served) as base:
        assert json.loads(status(f"{base}/health")[1])["status"] == "ok"
        for route in ("query", "search"):
            code, body = status(f"{base}/{route}", asked)
            assert code == 200
            assert [row["file"] for row in json.loads(body)["results"]] == [f"{C}/sub/beta.md"]
        assert status(f"{base}/query", {}) == (400, '{"error":"Missing required field: searches (array)"}')
        assert status(f"{base}/query", b"[" * 100_000) == (400, '{"error":"the body must be JSON in UTF-8"}')
        assert announced(base, "/query", 2_000_000) == 413
        both = "application/json, text/event-stream"
        assert status(f"{base}/mcp", b"[" * 100_000, Accept=both)[0] == 400
        assert announced(base, "/mcp", 2_000_000) == 413
        assert status(f"{base}/query", b"{nonsense")[0] == 400
        assert status(f"{base}/query", b"[1]")[0] == 400
        assert status(f"{base}/query", {"searches": [{"type": "x", "query": "y"}]})[0] == 400
        assert status(f"{base}/query")[0] == 405
        assert status(f"{base}/nothing")[0] == 404
        for route in ("health", "query", "mcp"):
            assert status(f"{base}/{route}", Origin="https://evil.example")[0] == 403
            assert status(f"{base}/{route}", Host="evil.example")[0] == 403
            assert status(f"{base}/{route}", Origin="http://203.0.113.5")[0] == 403
        assert status(f"{base}/health", Origin=base)[0] == 200


def test_a_token_opens_it_and_nobody_is_served_elsewhere_without_one(served):
    """As `serve` has it: beyond loopback a token is needed, and only a file of the user's own is believed."""
    ran = subprocess.run(
        command(served, "mcp", "--http", "--host", "0.0.0.0", "--port", "18999"),
        env=served.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1 and "refusing to serve on 0.0.0.0 without a token" in ran.stderr
    file = served.write("token", "s3cret")
    file.chmod(0o644)
    options = ["--token-file", str(file), "--allow-host", "Notes.example"]
    ran = subprocess.run(
        command(served, "mcp", "--http", *options),
        env=served.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1 and "chmod 600" in ran.stderr and "s3cret" not in ran.stderr
    file.chmod(0o600)
    asked = {"query": "ruff", "limit": 1}
    with http_server(served, *options) as base:
        assert status(f"{base}/health")[0] == 200
        for route in ("query", "search", "mcp"):
            assert status(f"{base}/{route}", asked)[0] == 401
            assert status(f"{base}/{route}", asked, Authorization="Bearer wrong")[0] == 401
        assert status(f"{base}/query", asked, Authorization="Bearer s3cret")[0] == 200
        allowed = {"Authorization": "Bearer s3cret", "Host": "notes.example"}
        assert status(f"{base}/query", asked, **allowed)[0] == 200


ODD = [
    ("query", {"searches": 5}),
    ("query", {"searches": "abc"}),
    ("query", {"searches": [None]}),
    ("query", {"query": "deploy", "collections": 5}),
    ("query", {"query": "deploy", "collections": [None]}),
    ("query", {"query": "deploy", "minScore": "x"}),
    ("query", {"query": 5}),
    ("get", {"file": 5}),
    ("get", {"file": "x:" + "9" * 5000}),
    ("multi_get", {"pattern": "[z-a]*"}),
    ("multi_get", {"pattern": "**/" * 14 + "zz*q"}),
    ("multi_get", {"pattern": "*", "maxBytes": "x"}),
    ("recall", {"query": "deploy", "mode": "zzz"}),
    ("recall", {"query": "deploy", "mode": ["x"]}),
    ("recall", {"query": "deploy", "workingDirectory": "\0"}),
    ("recall", {"query": "deploy", "workingDirectory": 5}),
    ("recall", {"query": "deploy", "collection": "nope"}),
    ("recall", {"query": "deploy", "collection": C}),
    ("explain", {"prompt": 5}),
]
NOT_OURS = ("object is not", "recursion depth", "Traceback", "unhashable", "invalid literal", "bad character")


def test_odd_arguments_get_a_sentence_of_ours(served):
    with Warm.opened(places(served.environment), models=False) as warm:
        tools = Tools(places(served.environment), warm)
        for name, arguments in ODD:
            answer = tools.call(name, arguments)
            assert answer.is_error, (name, arguments)
            assert answer.text and answer.text != "Error: internal error", (name, arguments)
            assert not any(words in answer.text for words in NOT_OURS), answer.text


def test_a_failure_that_nobody_foresaw_tells_nothing(served, monkeypatch, caplog):
    from pi_rank.qmd.mcp import tools as module

    def broken(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(module.documents, "find", broken)
    with Warm.opened(places(served.environment), models=False) as warm:
        answer = Tools(places(served.environment), warm).call("get", {"file": "alpha.md"})
    assert (answer.is_error, answer.text) == (True, "Error: internal error")
    assert "RuntimeError" in caplog.text


def test_in_the_background(served):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])

    def run(*argv):
        return subprocess.run(
            command(served, "qmd", "mcp", *argv),
            env=served.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    started = run("--http", "--daemon", "--port", port)
    try:
        assert started.returncode == 0 and f"Started on http://127.0.0.1:{port}/mcp" in started.stdout, (
            started
        )
        assert status(f"http://127.0.0.1:{port}/health")[0] == 200
        again = run("--http", "--daemon", "--port", port)
        assert again.returncode == 1 and "Already running" in again.stderr
    finally:
        stopped = run("stop")
    assert "Stopped" in stopped.stdout
    assert run("stop").stdout == "Not running.\n"


@pytest.mark.skipif(not SHARED, reason="PI_RANK_SHARED names no folder with the samples")
def test_the_schemas_are_qmds():
    """Names, types, defaults and what is required, as in a transcript of the real server."""
    path = Path(SHARED) / "cases" / "qmd-samples" / "mcp-stdio-2025.json"
    transcript = json.loads(path.read_text(encoding="utf-8"))["transcript"]
    listed = next(m["msg"]["result"]["tools"] for m in transcript if "tools" in m["msg"].get("result", {}))

    def shape(schema):
        if "properties" not in schema:
            return {key: schema[key] for key in ("type", "default", "enum", "maxItems") if key in schema}
        return {
            "required": schema.get("required", []),
            **{name: shape(field) for name, field in schema["properties"].items()},
        }

    assert {tool["name"]: shape(tool["inputSchema"]) for tool in listed} == {
        tool["name"]: shape(TOOLS[tool["name"]][2]) for tool in listed
    }


def test_text_that_no_utf8_can_carry(served):
    with Warm.opened(places(served.environment), models=False) as warm:
        tools = Tools(places(served.environment), warm)
        for text in ("\ud83d half an emoji", "nul \0", "x" * 100_000, '"', "-"):
            assert not tools.call("query", {"query": text}).is_error
            tools.call("query", {"searches": [{"type": "lex", "query": text}]})
        assert tools.call("get", {"file": 5}).is_error
        assert tools.call("query", {"query": "x", "limit": float("nan")}).is_error
