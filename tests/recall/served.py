"""A server of ours in a process of its own, as `pi-rank serve` starts it. Tests that need one skip without
it.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from pi_rank.recall.client.origin import parse_origin

for needed in ("h11", "starlette", "uvicorn"):
    pytest.importorskip(needed, reason="pi-rank[serve] is not installed")


class Server:
    """A running `pi-rank serve`."""

    def __init__(self, process, folder):
        self.process = process
        self.folder = folder
        self.url = process.stdout.readline().strip()
        assert self.url.startswith("http://"), process.communicate(timeout=10)
        self.origin = parse_origin(self.url)

    def connect(self, timeout=20):
        return http.client.HTTPConnection(self.origin.host, self.origin.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and decoded body of one request; `body` is a JSON value, or bytes as they are."""
        connection = self.connect()
        data = (
            body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        )
        try:
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            text = answer.read()
            value = (
                json.loads(text) if answer.headers.get_content_type() == "application/json" else text.decode()
            )
            return answer.status, answer.headers, value
        finally:
            connection.close()

    def post(self, path, body, headers=None):
        status, _, value = self.ask("POST", path, body, headers)
        return status, value

    def recall(self, query, top_k=5):
        status, value = self.post("/recall", {"query": query, "top_k": top_k})
        assert status == 200, value
        return value["results"]

    def stop(self, how=signal.SIGTERM):
        """Stop it, and give what it wrote to stderr."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.communicate(timeout=40)[1]


@contextmanager
def running(folder, *options, environment=None):
    """Start `pi-rank serve` on `folder`/root with its store in `folder`."""
    command = [sys.executable, "-m", "pi_rank.cli", "serve", "--root", str(folder / "root")]
    command += [
        "--store",
        str(folder / "store.sqlite3"),
        "--model",
        "none",
        "--port",
        "0",
        *map(str, options),
    ]
    clean = {name: value for name, value in os.environ.items() if "_API_" not in name}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**clean, **(environment or {})},
    )
    try:
        server = Server(process, folder)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=40)
