"""uvicorn's HTTP/1.1 connection with what a public port needs besides: time limits, and JSON for broken
requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """One client's connection.

    Nobody may take longer than `header_seconds` for a request's head, `body_seconds` for sending on after
    its answer, or for taking the answer in. A client that stops sending in the middle of a request is told
    so. One that still sends when the connection is to be closed is heard out that long: closed at once, the
    system would take back the answer too.
    """

    header_seconds = 10.0
    body_seconds = 10.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._limit: asyncio.TimerHandle | None = None
        self._ended = False
        self._lingering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = _Patient(transport, self)  # type: ignore[assignment]
        self._limit_to(self.header_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lift_limit()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            if self.cycle is not None and not self.cycle.response_complete:
                self._lift_limit()
        elif self._limit is None:
            self._limit_to(self.header_seconds, self._head_is_late)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more; an answer that is due can still be sent to it."""
        self._ended = True
        if self._lingering:
            return False
        if self.cycle is not None and self.cycle.response_complete:
            return False
        if self.conn.their_state is h11.SEND_BODY:
            self.cycle.more_body = False  # the reader of the body compares it with its Content-Length
            self.cycle.message_event.set()
            return True
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self.send_400_response("incomplete request")
            return True
        return self.cycle is not None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._ended and self.cycle.response_complete:  # else another request came before the end
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY or self.transport.get_write_buffer_size():
            self._limit_to(self.body_seconds, self.transport.abort)

    def linger(self) -> bool:
        """Whether the connection stays open for what its client still sends, which is thrown away."""
        if self._lingering or self._ended or self.conn.their_state is not h11.SEND_BODY:
            return False
        self._lingering = True
        self.transport.write_eof()
        self.flow.resume_reading()
        self._limit_to(self.body_seconds, self.transport.abort)
        return True

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._limit_to(self.body_seconds, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Say that the request is malformed, and end the connection."""
        self._refuse(400, b"Bad Request", "malformed request" if msg.startswith("Invalid HTTP") else msg)

    def _head_is_late(self) -> None:
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse(408, b"Request Timeout", "the request took too long")
        else:
            self.transport.abort()

    def _refuse(self, status: int, reason: bytes, message: str) -> None:
        no_body = False
        if self.cycle is not None and not self.cycle.response_complete:
            no_body = self.cycle.scope["method"] == "HEAD"
            self.cycle.disconnected = True  # its answer, which is not begun, would come after this one
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = msgspec.json.encode({"error": message})
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (b"connection", b"close"),
            ]
            response = h11.Response(status_code=status, headers=headers, reason=reason)
            for event in (response, *([] if no_body else [h11.Data(data=body)]), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _limit_to(self, seconds: float, then: Callable[[], None]) -> None:
        self._lift_limit()
        self._limit = self.loop.call_later(seconds, then)

    def _lift_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class _Patient:
    """A transport that is closed when its client has been heard out."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    def close(self) -> None:
        if not self._connection.linger():
            self._transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._transport, name)


def connection_class(header_seconds: float, body_seconds: float) -> type[Connection]:
    """A `Connection` with these limits; uvicorn makes its connections from a class."""
    limits = {"header_seconds": header_seconds, "body_seconds": body_seconds}
    return type("LimitedConnection", (Connection,), limits)
