"""`pi-rank serve`: raw requests, heads, bodies and routes, on one server that must outlive them all."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.campaign.corpus import as_bytes, as_text
from tests.campaign.door import Door
from tests.campaign.values import flip_bits, junk, text, words
from tests.support.memory import write_root

ANSWER_SECONDS = 30.0
STATUS = re.compile(rb"HTTP/1\.1 (\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)
ROUTES = ["/recall", "/remember", "/context", "/search", "/consolidate", "/explain"]
GETS = ["/status", "/metrics", "/health", "/openapi.json"]
PATHS = [
    "/\xff",
    "/%ff%fe",
    "/%00",
    "/../status",
    "//status",
    "/recall?q=x",
    "*",
    "/remember/note_x",
    "/" + "a" * 30_000,
]
HEADS = [
    "Authorization: Bearer x",
    "Origin: http://203.0.113.5",
    "Origin: null",
    "Origin: http://evil.example@127.0.0.1",
    "X: \xff\xfe",
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Content-Type: \xff",
    ": empty",
    "Cookie: " + "a" * 5_000,
    "Upgrade: h2c",
    "Connection: keep-alive",
    "Content-Encoding: gzip",
    "Host: evil.example",
    "X-Forwarded-For: 10.0.0.1",
]
HIDDEN = "canary of another project"
PLANTED = "planted from elsewhere"


class Serve(Door):
    """One server; each case is a few requests, as bytes on the wire."""

    deadline = 60.0

    @classmethod
    def missing(cls):
        absent = [name for name in ("starlette", "uvicorn", "h11") if importlib.util.find_spec(name) is None]
        return f"{', '.join(absent)} is not installed (extra: serve)" if absent else ""

    def __init__(self, folder):
        super().__init__(folder)
        records = [{"id": f"mem_{n}", "statement": f"deploy the orchard on friday {n}"} for n in range(20)]
        other = {"id": "mem_other", "statement": HIDDEN, "scope": {"type": "project", "project": "elsewhere"}}
        gone = {"id": "mem_gone", "statement": "canary of a deleted record deploy"}
        top = Path(folder, "served")
        write_root(top / "root", [*records, other, gone], tombstones=["mem_gone"])
        (top / "mine").mkdir()
        command = [sys.executable, "-m", "pi_rank.cli", "serve", "--root", str(top / "root"), "--port", "0"]
        command += [
            "--store",
            str(top / "store.sqlite3"),
            "--model",
            "none",
            "--rate",
            "0",
            "--cwd",
            str(top / "mine"),
        ]
        self._log = top / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        url = self._process.stdout.readline().decode().strip()
        assert url.startswith("http://"), self._log.read_bytes()[-1_000:]
        self._port = int(url.rpartition(":")[2])
        self._audit = top / "recall-audit.jsonl"

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def make(self, chance):
        return {"requests": [_request(chance) for _ in range(chance.randint(1, 8))]}

    def run(self, case, trial):
        seen = self._log.stat().st_size
        for request in case.get("requests", []):
            trial.inputs += 1
            self._send(as_bytes(str(request)), trial)
        alive = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with trial.expecting("health", OSError):
            answer = self._exchange(alive)
            trial.check(answer.startswith(b"HTTP/1.1 200"), "the server is not well", ascii(answer[:300]))
        said = self._log.read_bytes()[seen:]
        trial.check(
            b"Traceback" not in said, "a traceback is logged", said[-6_000:].decode("utf-8", "replace")
        )
        trial.check(
            self._process.poll() is None, "the server has ended", said[-6_000:].decode("utf-8", "replace")
        )

    def _send(self, request, trial):
        try:
            answer = self._exchange(request)
        except TimeoutError:
            trial.say("no answer", ascii(request[:300]))
            return
        except OSError:
            trial.tallies["closed"] += 1
            return
        found = [(int(status), head) for status, head in STATUS.findall(answer)]
        trial.tallies["answers"] += len(found)
        for status, _ in found:
            trial.check(200 <= status < 500 or status == 100, f"status {status}", ascii(request[:500]))
        trial.check(
            HIDDEN.encode() not in answer, "a record of another project is served", ascii(request[:500])
        )
        trial.check(b"canary of a deleted" not in answer, "a deleted record is served", ascii(request[:500]))
        if b"\r\nOrigin: http://203" in request or b"\r\nOrigin: http://evil" in request:
            stored = b'"stored"' in answer and PLANTED.encode() in request
            trial.check(not stored, "a web page writes memory", ascii(request[:500]))
        if len(found) == 1 and found[0][0] >= 400 and not request.startswith(b"HEAD"):
            self._check_error(answer, request, trial)

    def _check_error(self, answer, request, trial):
        body = answer.partition(b"\r\n\r\n")[2]
        try:
            trial.check("error" in json.loads(body), "an error without its word", ascii(answer[:300]))
        except ValueError:
            trial.say("an error that is no JSON", f"{answer[:300]!a} to {request[:300]!a}")

    def _exchange(self, request):
        with socket.create_connection(("127.0.0.1", self._port), timeout=ANSWER_SECONDS) as line:
            try:
                line.sendall(request)
                line.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before it was all said: the answer may still be there
            answer = b""
            while part := line.recv(1 << 16):
                answer += part
            return answer


def _request(chance):
    body = json.dumps(_body(chance)) if chance.random() < 0.8 else text(chance)
    data = body.encode("utf-8", "surrogatepass")
    method = chance.choice(["POST"] * 8 + ["GET", "GET", "HEAD", "OPTIONS", "DELETE", "get", "\xff", ""])
    routes = GETS if method == "GET" else ROUTES
    path = chance.choice(routes) if chance.random() < 0.85 else chance.choice(PATHS)
    length = len(data) + chance.choice([0] * 12 + [-3, 5])
    heads = ["Host: 127.0.0.1", f"Content-Length: {length}", "Connection: close"]
    heads += chance.sample(HEADS, chance.choice([0, 0, 0, 1, 2]))
    head = f"{method} {path} HTTP/1.{chance.choice([1, 1, 1, 0, 2])}\r\n" + "\r\n".join(heads) + "\r\n\r\n"
    raw = head.encode("latin-1", "replace") + data
    return as_text(_mutated(chance, raw) if chance.random() < 0.3 else raw)


def _body(chance):
    turn = {"latest_user_message": f"how do we {words(chance)}?"}
    usual = chance.choice(
        [
            {"query": words(chance), "top_k": chance.choice([1, 5, 100])},
            {
                "content": chance.choice([text(chance), PLANTED]),
                "trigger": chance.choice([None, text(chance)]),
            },
            {"context": turn, "max_bytes": chance.choice([0, 14_000])},
            {
                "query": text(chance),
                "mode": chance.choice(["lexical", "hybrid", "x"]),
                "k": 5,
                "context": turn,
            },
            {"force": True},
        ]
    )
    if chance.random() < 0.5:
        usual[chance.choice([*usual, "context", "k", "profile_id"])] = junk(chance)
    if chance.random() < 0.2:
        usual["context"] = turn | {chance.choice(["working_directory", "profile_id", "x"]): junk(chance)}
    return usual if chance.random() < 0.95 else junk(chance)


def _mutated(chance, raw):
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(raw) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            raw = flip_bits(chance, raw, 2)
        elif kind == 1:
            raw = raw[:at] + raw[at + chance.randint(1, 5) :]
        elif kind == 2:
            raw = raw[:at] + chance.choice([b"\r\n", b"\n", b"\0", b" ", b"\r", b"\xff"]) + raw[at:]
        else:
            raw = raw[:at]
    return raw
