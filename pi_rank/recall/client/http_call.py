"""One HTTP/1.1 request on a connection of its own, over asyncio streams and h11.

No client library: an environment's proxy would be handed the bearer token, a redirect followed, a resolver's
or a reader's thread waited for after the deadline. Here every wait is the event loop's, so a cancelled call
is over.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

from pi_rank.recall.client.origin import Origin

try:
    import h11
except ImportError as error:
    raise ImportError("recall over HTTP needs h11: pip install 'pi-rank[serve]'") from error

READ_BYTES = 65_536
MAX_HEADER_BYTES = 65_536
Headers = list[tuple[bytes, bytes]]


class CallError(Exception):
    """The exchange did not end in a whole answer of an acceptable size. For `http_call`'s callers only."""


async def call(
    origin: Origin, method: str, target: str, headers: Headers, body: bytes, max_response_bytes: int
) -> tuple[int, Headers, bytes]:
    """Status, headers (names in lower case) and body of the answer to a request. Has no deadline of its own.

    :raises CallError, OSError, h11.RemoteProtocolError: there is none, or it is too long.
    """
    reader, writer = await _connect(origin)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        request = h11.Request(method=method, target=target, headers=headers)
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        return await _Answer(reader, connection, max_response_bytes).read()
    finally:
        writer.transport.abort()  # a graceful end would wait for the server


def request_headers(origin: Origin, length: int, token: str | None) -> Headers:
    """The headers of a request with a JSON body of so many bytes."""
    headers = [
        (b"Host", origin.authority.encode()),
        (b"User-Agent", b"pi-rank"),
        (b"Accept", b"application/json"),
        (b"Accept-Encoding", b"identity"),
        (b"Content-Type", b"application/json"),
        (b"Content-Length", str(length).encode()),
        (b"Connection", b"close"),
    ]
    if token is not None:
        headers.append((b"Authorization", b"Bearer " + token.encode()))
    return headers


class _Answer:
    """Reads one response, and never holds more of it than its limit."""

    def __init__(self, reader: asyncio.StreamReader, connection: h11.Connection, max_bytes: int) -> None:
        self._reader = reader
        self._connection = connection
        self._max_bytes = max_bytes
        self._received = 0

    async def read(self) -> tuple[int, Headers, bytes]:
        response = await self._next()
        while isinstance(response, h11.InformationalResponse):
            response = await self._next()
        if not isinstance(response, h11.Response):
            raise CallError("no response")
        body = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            body += event.data
            if len(body) > self._max_bytes:
                raise CallError("the answer is too long")
        if not isinstance(event, h11.EndOfMessage):
            raise CallError("the answer is not whole")
        return response.status_code, list(response.headers), bytes(body)

    async def _next(self) -> Any:  # noqa: ANN401
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(READ_BYTES)
            self._received += len(data)
            # Headers, chunk sizes and interim responses count too, or they could come without end.
            if self._received > 2 * self._max_bytes + MAX_HEADER_BYTES:
                raise CallError("the answer is too long")
            self._connection.receive_data(data)
        return event


async def _connect(origin: Origin) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if origin.scheme == "http":
        return await asyncio.open_connection(origin.host, origin.port)
    context = ssl.create_default_context()
    failure: OSError = OSError("no address")
    for address in await _resolve(origin):
        try:
            return await asyncio.open_connection(
                address, origin.port, ssl=context, server_hostname=origin.host
            )
        except OSError as error:
            failure = error
    raise failure


async def _resolve(origin: Origin) -> list[str]:
    """The host's addresses. asyncio's own resolver is a pool whose stuck thread keeps the process from
    ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def answer(addresses: list[str], error: OSError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(addresses)
        else:
            future.set_exception(error)

    def look_up() -> None:
        addresses: list[str] = []
        failure: OSError | None = None
        try:
            found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        except OSError as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile: nobody waits any more
            loop.call_soon_threadsafe(answer, addresses, failure)

    threading.Thread(target=look_up, daemon=True, name="pi-rank-resolve").start()
    return await future
