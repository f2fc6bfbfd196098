"""A model on 127.0.0.1 that answers by a script and keeps each request: real agents run against it.

Offline.
"""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.agents import dialects


class ModelServer(ThreadingHTTPServer):
    """`bodies`: each body of a conversation's request, in the order of arrival."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies = []
        self.lock = threading.Lock()

    @property
    def port(self):
        return self.server_address[1]

    def main(self):
        """The requests of the conversation itself: titles, probes and summaries offer no tools."""
        with self.lock:
            return [body for body in self.bodies if body.get("tools")]

    def write(self, path):
        """The conversation as `pi-rank prefix-check` reads it."""
        path.write_text("".join(json.dumps(body, ensure_ascii=False) + "\n" for body in self.main()), "utf-8")
        return path


@contextmanager
def serving():
    """A running server."""
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Nothing: the bodies are kept."""

    def do_GET(self):
        if "/models" in self.path:
            model = {"id": "scripted", "object": "model", "type": "model", "display_name": "scripted"}
            self._json({"object": "list", "data": [model], "models": [], "has_more": False})
        else:
            self._json({})

    do_HEAD = do_GET

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        coding = self.headers.get("Content-Encoding")
        if coding == "gzip":
            data = gzip.decompress(data)
        elif coding == "deflate":
            data = zlib.decompress(data)
        body = json.loads(data or b"{}")
        path = self.path.split("?")[0].rstrip("/")
        if path.endswith(("count_tokens", ":countTokens")):
            return self._json({"input_tokens": 10, "totalTokens": 10})
        with self.server.lock:
            self.server.bodies.append(body)
            number = len(self.server.bodies)
        call = dialects.shell_call(body) if dialects.asks_for_tool(body) else None
        for ending, answer in _ANSWERS.items():
            if path.endswith(ending):
                return self._answer(answer(body, number, call), ending)
        return self._json({"error": "not here"}, 404)

    def _answer(self, value, ending):
        if isinstance(value, dict) or ending == ":generateContent":
            return self._json(value[0] if isinstance(value, list) else value)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")  # its end is the answer's
        self.end_headers()
        named = ending in ("/messages", "/responses")
        for event in value:
            name = f"event: {event['type']}\n" if named else ""
            text = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{name}data: {text}\n\n".encode())
        self.close_connection = True
        return None

    def _json(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


_ANSWERS = {
    "/messages": dialects.anthropic,
    "/chat/completions": dialects.chat,
    "/responses": dialects.responses,
    ":streamGenerateContent": dialects.gemini,
    ":generateContent": dialects.gemini,
}
