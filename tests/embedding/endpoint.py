"""A real HTTP server for tests that answers `POST /v1/embeddings`, well or as badly as it is told to."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.hashing_embedder import HashingEmbedder

DIMENSION = 8


class Endpoint:
    """What the server has been asked, and what it is to answer.

    `answers`: functions of a handler and a request, used up one a request; then it answers well.
    """

    def __init__(self):
        self.requests = []
        self.headers = []
        self.connections = set()
        self.answers = []
        self.embedder = HashingEmbedder(DIMENSION)
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.url = ""

    @property
    def texts(self):
        """How many texts it has been asked to embed."""
        return sum(len(request["input"]) for request in self.requests)

    def data(self, request):
        """The right answer's list."""
        with self.lock:
            vectors = [self.embedder.embed_query(text).tolist() for text in request["input"]]
        return [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(vectors)]


def send(handler, status, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


@contextmanager
def serving():
    """An `Endpoint` on a free port of this machine."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with endpoint.lock:
                endpoint.requests.append(request)
                endpoint.headers.append(dict(self.headers))
                endpoint.connections.add(self.client_address)
                answer = endpoint.answers.pop(0) if endpoint.answers else None
            if answer is not None:
                answer(self, request)
            elif self.path != "/v1/embeddings":
                send(self, 404, {"error": "no such path"})
            else:
                send(self, 200, {"object": "list", "data": endpoint.data(request)})

        def log_message(self, *arguments):
            """Nothing on stderr."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            """A client that was killed is no error of the test's."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def write_card(path, endpoint, **fields):
    """A card for the endpoint at `path`; returns the path."""
    values = {
        "runtime": "openai-compatible",
        "id": "remote",
        "url": endpoint.url,
        "model": "hashing",
        "dimension": DIMENSION,
        "timeout_seconds": 5.0,
        "attempts": 3,
    } | fields
    path.write_text(
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()), encoding="utf-8"
    )
    return path
