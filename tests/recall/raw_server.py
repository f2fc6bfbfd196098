"""A server that sends exactly the bytes it is told to: what a client must survive."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager


def response(body, *headers, status=b"200 OK", content_type=b"application/json", length=None):
    """The bytes of a response; `body` is bytes, or a value to encode as JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body, ensure_ascii=False).encode()
    lines = [b"HTTP/1.1 " + status]
    if content_type is not None:
        lines.append(b"Content-Type: " + content_type)
    lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join([*lines, *headers, b"", body])


@contextmanager
def serving(answer, *, context=None):
    """Serves on loopback, over TLS where there is a `context`.

    `answer(request bytes)` gives bytes, or an iterable of chunks and pauses in seconds.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    requests: list[bytes] = []

    def handle(plain):
        plain.settimeout(5)
        try:
            connection = plain if context is None else context.wrap_socket(plain, server_side=True)
        except OSError:
            return  # the client did not like the certificate
        with connection:
            data = b""
            while not _whole(data):
                received = connection.recv(65536)
                if not received:
                    return
                data += received
            requests.append(data)
            _send(connection, answer(data))

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        listener.close()


def _whole(data):
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    lengths = [
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    ]
    return len(body) >= (lengths[0] if lengths else 0)


def _send(connection, parts):
    try:
        for part in [parts] if isinstance(parts, bytes) else parts:
            if isinstance(part, bytes):
                connection.sendall(part)
            else:
                time.sleep(part)
    except OSError:
        return  # the client has had enough, as it should
