"""What stands before every route: who may ask, how much, and in which frame; and what is written down of it.

Order: the head's size, Host and Origin, framing, body size, bearer token, rate limit, route. A caller without
the token takes from a bucket of strangers, never from the one that those with it share by address. A sign of
life needs none.
"""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers

from pi_rank.serving.api_errors import ApiError, error_response
from pi_rank.serving.failures import log_failure
from pi_rank.serving.limits import RateLimit, caller_of
from pi_rank.serving.settings import STRANGER_BURST, STRANGER_RATE, ServerSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Record = Callable[[Scope, int, float], None]

HEALTH = "/health"
MAX_HEAD_BYTES = 32_768  # first line and headers of a request
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]@/:]+))(?::[0-9]*)?")
_BEARER = {"WWW-Authenticate": 'Bearer realm="pi_rank"'}


class Gate:
    """ASGI middleware around the routes."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, record: Record | None = None) -> None:
        """:param record: called with each answer that is about to be sent."""
        self._app = app
        self._settings = settings
        self._record = record
        self._callers = RateLimit(settings.rate, settings.burst)
        self._strangers = RateLimit(min(settings.rate, STRANGER_RATE), min(settings.burst, STRANGER_BURST))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self, scope, send)
        try:
            if _head_bytes(scope) > MAX_HEAD_BYTES:
                raise ApiError(431, "request head too large")
            headers = Headers(scope=scope)
            self._check_names(headers)
            if scope["path"] != HEALTH:
                self._check(scope, headers)
            with anyio.fail_after(self._settings.request_seconds):
                await self._app(scope, receive, answer.send)
        except ApiError as error:
            await answer.fail(error, scope, receive)
        except TimeoutError:
            await answer.fail(ApiError(503, "the request took too long"), scope, receive)
        except Exception as error:  # a caller learns nothing of it, and the server stays up
            log_failure(error)
            await answer.fail(ApiError(500, "internal error"), scope, receive)

    def record(self, scope: Scope, status: int, started: float) -> None:
        """Tell of an answer that is about to be sent, to a request that came in at `started`."""
        if self._record is not None:
            self._record(scope, status, time.perf_counter() - started)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if scope["method"] == "POST":
            self._check_frame(headers)
        caller = caller_of(address_of(scope))
        known = self._is_known(headers)
        wait = (self._callers if known else self._strangers).take(caller)
        if wait:
            raise ApiError(429, "too many requests", {"Retry-After": str(math.ceil(wait))})
        if not known:
            raise ApiError(401, "unauthorized", _BEARER)

    def _check_names(self, headers: Headers) -> None:
        """A page in somebody's browser must not reach us under a name of its own, nor in its own name."""
        host = headers.get("host", "")
        if not self._is_ours(_host_name(host)):
            raise ApiError(403, "host not allowed")
        # An address in Host cannot be made to point elsewhere. In Origin it is only where a page came from,
        # and anybody can serve pages from an address: a page may ask its own server, and no other.
        origin = headers.get("origin")
        if origin is not None and not self._is_own_origin(origin, host):
            raise ApiError(403, "origin not allowed")

    def _is_ours(self, name: str) -> bool:
        return _is_address(name) or name in ("localhost", self._settings.host, *self._settings.allowed_hosts)

    def _is_own_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this server asks, or one under a name that the server was told of.

        Anybody can serve a page from a bare address, or from another port of this machine.
        """
        try:
            asking = urlsplit(origin)
            name = asking.hostname or ""
        except ValueError:
            return False
        if asking.scheme not in ("http", "https") or "@" in asking.netloc:
            return False
        return asking.netloc.lower() == host.lower() or name in self._settings.allowed_hosts

    def _check_frame(self, headers: Headers) -> None:
        length = headers.get("content-length")
        if length is None or "transfer-encoding" in headers:
            raise ApiError(411, "Content-Length required")
        if not (length.isascii() and length.isdigit()) or len(length) > 18:
            raise ApiError(400, "Content-Length is not a number")
        if int(length) > self._settings.body_limit:
            raise ApiError(413, "request body too large")
        if headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ApiError(415, "compressed request bodies are not supported")

    def _is_known(self, headers: Headers) -> bool:
        if self._settings.token is None:
            return True
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._settings.token.matches(shown.strip().encode("latin-1"))


class _Answer:
    """Sees to it that an answer is written down before it is sent, and that there is only one."""

    def __init__(self, gate: Gate, scope: Scope, send: Send) -> None:
        self._gate = gate
        self._scope = scope
        self._send = send
        self._started_at = time.perf_counter()
        self._begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            self._gate.record(self._scope, message["status"], self._started_at)
        await self._send(message)

    async def fail(self, error: ApiError, scope: Scope, receive: Receive) -> None:
        if not self._begun:
            await error_response(error)(scope, receive, self.send)


def _head_bytes(scope: Scope) -> int:
    """The head as the client sent it: first line and header lines, with what stands between their parts."""
    target = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    first = len(scope["method"]) + target + len(" ? HTTP/1.1\r\n")
    return first + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])


def address_of(scope: Scope) -> str:
    """The address that a request came from."""
    client = scope.get("client")
    return client[0] if client else "unknown"


def _host_name(host: str) -> str:
    """The name in a Host header, without its port; "" where it is none."""
    found = _HOST.fullmatch(host.lower())
    return (found[1] or found[2]) if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
