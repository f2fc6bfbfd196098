"""POST requests to one URL over connections that are kept, each answered in time or not at all."""

from __future__ import annotations

import email.utils
import http.client
import time
import urllib.parse
import weakref
from typing import NamedTuple

from pi_rank.errors import ModelError

IDLE_CONNECTIONS = 4  # kept for the next requests
READ_BLOCK = 1 << 16  # bytes
MAX_ANSWER = 256 << 20  # bytes: 2,048 vectors of 4,096 numbers are a fifth of it


class RequestFailed(Exception):
    """No whole answer came: the connection failed, or the time was up. Another try may do better."""


class Answer(NamedTuple):
    """An HTTP answer. `retry_after`: the seconds that the server asks to wait, where it says so."""

    status: int
    body: bytes
    retry_after: float | None


class HttpPool:
    """Requests to one URL. Threads may share it: each request has a connection of its own while it runs.

    :param timeout: seconds for one request, from connecting to the answer's last byte.
    """

    def __init__(self, url: str, timeout: float) -> None:
        parts = urllib.parse.urlsplit(url)
        try:
            self._port = parts.port
        except ValueError as error:
            raise ModelError(f"{url!r} is no URL: {error}") from error
        if not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ModelError(f"a model's URL is https://HOST/PATH and nothing else, not {url!r}")
        self.url = url
        self.host = parts.hostname
        self.secure = parts.scheme == "https"
        self._path = parts.path
        self._timeout = timeout
        self._idle: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close_all, self._idle)

    def post(self, body: bytes, headers: dict[str, str]) -> Answer:
        """The answer, whatever its status.

        :raises RequestFailed: there is none, or not within the time.
        """
        deadline = time.monotonic() + self._timeout
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._exchange(self._connection(), body, headers, deadline)
        try:
            return self._exchange(connection, body, headers, deadline)
        except RequestFailed:
            # The server may have closed a connection that was idle; embedding twice does no harm.
            if time.monotonic() >= deadline:
                raise
        return self._exchange(self._connection(), body, headers, deadline)

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self._port, timeout=self._timeout)

    def _exchange(
        self, connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str], deadline: float
    ) -> Answer:
        try:
            _limit(connection, deadline)
            connection.request("POST", self._path, body, headers)
            _limit(connection, deadline)
            response = connection.getresponse()
            content = _read(connection, response, deadline)
        except TimeoutError as error:
            connection.close()
            raise RequestFailed(f"no whole answer within {self._timeout:g} seconds") from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise RequestFailed(f"{type(error).__name__}: {error}") from error
        except BaseException:
            connection.close()
            raise
        if response.will_close or len(self._idle) >= IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)
        return Answer(response.status, content, _seconds(response.headers.get("Retry-After")))


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _limit(connection: http.client.HTTPConnection, deadline: float) -> None:
    """Lets the connection's next step take no longer than until `deadline`."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.timeout = left
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _read(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float
) -> bytes:
    """The body. Read in blocks, or a server that sends a byte now and then would never run into the limit."""
    blocks, size = [], 0
    while block := response.read1(READ_BLOCK):
        blocks.append(block)
        size += len(block)
        if size > MAX_ANSWER:
            raise http.client.HTTPException(f"an answer of more than {MAX_ANSWER:,} bytes")
        _limit(connection, deadline)
    if response.length:
        raise http.client.IncompleteRead(b"".join(blocks), response.length)
    response.close()  # lets the connection be used again
    return b"".join(blocks)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After (RFC 9110, 10.2.3): seconds, or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return None
    return max(0.0, when.timestamp() - time.time())
