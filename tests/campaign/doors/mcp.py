"""MCP, over HTTP and over stdio: tools, their arguments, resources, and whatever is no request at all."""

from __future__ import annotations

import http.client
import importlib.util
import json
import select
import socket
import time

from tests.campaign.corpus import as_bytes
from tests.campaign.door import Door
from tests.campaign.doors.qmd import FILES, PATTERNS, QUERIES
from tests.campaign.qmd_world import Served, check_answer
from tests.campaign.values import damaged_json, junk, spoil, text, words

ANSWER_SECONDS = 30.0


def needs_mcp():
    """Why there is no MCP here; "" where there is."""
    absent = [name for name in ("mcp", "mcp_types", "uvicorn") if importlib.util.find_spec(name) is None]
    return f"{', '.join(absent)} is not installed (extra: mcp)" if absent else ""


class _Mcp(Door):
    """What both transports have in common: a case is a few requests."""

    deadline = 60.0

    @classmethod
    def missing(cls):
        return needs_mcp()

    def close(self):
        self._served.close()

    def make(self, chance):
        return {"requests": [_request(chance) for _ in range(chance.randint(1, 6))]}

    def run(self, case, trial):
        since = self._served.logged()
        for request in case.get("requests", []):
            trial.inputs += 1
            data = as_bytes(request) if isinstance(request, str) else json.dumps(request).encode()
            self._send(data, request, trial)
        self._send(json.dumps(_call(7, "status", {})).encode(), None, trial)
        self._served.check(trial, since)


class McpHttp(_Mcp):
    """`qmd mcp --http`."""

    def __init__(self, folder):
        super().__init__(folder)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self._served = Served(folder, "mcp", "--http", "--port", str(self._port))
        self._served.until(self._listens)

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self._port), 0.5).close()
        except OSError:
            return False
        return True

    def _send(self, data, request, trial):
        route = "/query" if isinstance(request, dict) and "jsonrpc" not in request else "/mcp"
        status, body = self._answer(route, data, trial)
        while status == 429:  # it limits each client, as it should
            time.sleep(0.2)
            status, body = self._answer(route, data, trial)
        trial.check(200 <= status < 500, f"status {status}", ascii(data[:500]))
        check_answer(trial, body, data.decode("utf-8", "replace"))
        if request is None:
            trial.check('"isError":false' in body.replace(" ", ""), "the server is not well", body[:500])

    def _answer(self, route, data, trial):
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        try:
            line.request("POST", route, data, kinds)
            answer = line.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except TimeoutError:
            trial.say("no answer", ascii(data[:500]))
            return 0, ""
        finally:
            line.close()


class McpStdio(_Mcp):
    """`qmd mcp`: each line of stdin is a request, and each line of stdout an answer."""

    def __init__(self, folder):
        super().__init__(folder)
        self._served = Served(folder, "mcp", pipes=True)
        self._number = 0
        self._rest = b""
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        assert self._answer(
            {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}, "hello"
        )
        self._write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def _send(self, data, request, trial):
        if request is not None:
            self._write(data.replace(b"\n", b" ").replace(b"\r", b" "))
            return
        self._number += 1
        found = self._answer(_call(f"status{self._number}", "status", {}), f"status{self._number}", trial)
        trial.check(found, "no answer any more")

    def _answer(self, request, id_, trial=None):
        """Whether the answer with that id comes; what comes before it is looked at as well."""
        self._write(json.dumps(request).encode())
        while True:
            line = self._line()
            if line is None:
                return False
            said = line.decode("utf-8", "replace")
            if trial is not None:
                check_answer(trial, said, "")
            try:
                answer = json.loads(said)
            except ValueError:
                if trial is not None:
                    trial.say("a line on stdout is no JSON", said[:500])
                continue
            if isinstance(answer, dict) and answer.get("id") == id_:
                return True

    def _write(self, data):
        self._served.process.stdin.write(data + b"\n")
        self._served.process.stdin.flush()

    def _line(self):
        stream = self._served.process.stdout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([stream], [], [], ANSWER_SECONDS)
            part = stream.read1(1 << 16) if ready else b""
            if not part:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _call(id_, name, arguments):
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def _request(chance):
    made = _usual(chance)
    if chance.random() < 0.4:
        made = spoil(chance, made, chance.choice([1, 1, 3]))
    if chance.random() < 0.05:
        data = damaged_json(chance, json.dumps(made).encode())
        return data[:200_000].decode("utf-8", "surrogateescape")
    return made


def _usual(chance):
    query = chance.choice([*QUERIES, text(chance), words(chance)])[:20_000]
    numbers = [1, 5, -5, 1e300, 1e308, 0, True, "x", None]
    tools = {
        "query": {
            "query": query,
            "limit": chance.choice(numbers),
            "collections": chance.choice([["n"], 5, [None]]),
        },
        "get": {
            "file": chance.choice(FILES),
            "fromLine": chance.choice(numbers),
            "maxLines": chance.choice(numbers),
        },
        "multi_get": {"pattern": chance.choice(PATTERNS), "maxBytes": chance.choice(numbers)},
        "status": {},
        "recall": {
            "query": query,
            "mode": chance.choice(["hybrid", "lexical", "zzz", ["x"], {}]),
            "workingDirectory": chance.choice(["/tmp", "\x00", "/nowhere/web", 5, None]),
            "collection": chance.choice(["m", "n", "nope", None]),
        },
        "explain": {"prompt": query, "workingDirectory": chance.choice(["/tmp", "\x00", "/nowhere"])},
        "nope": {},
    }
    kind = chance.randrange(10)
    if kind == 0:
        uri = chance.choice(
            ["qmd://n/alpha.md", "qmd://n/../../etc/passwd", "file:///etc/passwd", "qmd:///etc", "/x"]
        )
        return {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
    if kind == 1:
        searches = [{"type": chance.choice(["lex", "vec", "x"]), "query": query}]
        return {"searches": chance.choice([searches, 5, "abc", [None]]), "limit": chance.choice(numbers)}
    if kind == 2:
        method = chance.choice(["tools/list", "resources/list", "ping", "initialize", "x", text(chance)[:40]])
        return {
            "jsonrpc": "2.0",
            "id": chance.choice([1, "x", None, 2**70, 1.5]),
            "method": method,
            "params": junk(chance),
        }
    name = chance.choice(list(tools))
    return _call(chance.randrange(2**31), name, tools[name])
