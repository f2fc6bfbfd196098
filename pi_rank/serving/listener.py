"""A listening socket, and a uvicorn server with the limits that a port needs."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_rank.errors import PiRankError
from pi_rank.serving.gate import MAX_HEAD_BYTES
from pi_rank.serving.settings import ServerSettings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

BACKLOG = 2_048
STOP_SECONDS = 30


class ServerError(PiRankError):
    """The server cannot start: the port is taken, for one."""


def uvicorn_server(app: ASGIApp, settings: ServerSettings, *, lifespan: bool = False) -> uvicorn.Server:
    """The server of an application, which stops at SIGINT and SIGTERM and finishes what it has begun.

    :param lifespan: the application wants to be told when it starts and ends.
    """
    import uvicorn

    from pi_rank.serving.connection import connection_class
    from pi_rank.serving.stoppable import StoppableServer

    # uvicorn reports broken requests and stack traces with the text of errors; the gate has its own log.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        app,
        http=connection_class(settings.header_seconds, settings.body_seconds),
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return StoppableServer(config)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    :raises ServerError: the address cannot be had.
    """
    _allow_many_files()
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServerError(f"cannot serve on {host} port {port}: {error.strerror or error}") from None
    try:
        if (
            os.name == "posix"
        ):  # there it allows a quick restart; on Windows it would let another take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ServerError(f"cannot serve on {host} port {port}: {error.strerror or error}") from None
    return listener


def _allow_many_files() -> None:
    """Every client is a file to the system, and a shell's default of 1,024 is too few."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # not allowed here: then it stays as it is
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
