"""The server: opens memory, binds the port, serves until it is told to stop, and finishes what it has
begun.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.errors import PiRankError
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.keeper import NoteKeeper
from pi_rank.recall.server.audit import AuditLog
from pi_rank.recall.server.metrics import Metrics
from pi_rank.recall.server.refresh import Refresher
from pi_rank.recall.server.service import Service
from pi_rank.recall.server.settings import Settings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from pi_rank.context import SessionContext
    from pi_rank.embedding import Embedder

BACKLOG = 2_048
MAX_HEAD_BYTES = 32_768
STOP_SECONDS = 30
NOTES_FILE = "notes.jsonl"
AUDIT_FILE = "recall-audit.jsonl"


class ServerError(PiRankError):
    """The server cannot start: the port is taken, for one."""


def serve(
    settings: Settings,
    root: Path,
    *,
    store: Path,
    model: str | Embedder | None,
    notes: Path | None = None,
    scope: SessionContext | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve a memory root until SIGINT or SIGTERM.

    :param store: the store's file; the notes file is beside it unless `notes` names another.
    :param announce: called once with the server's URL, when it can be asked.
    :raises PiRankError: memory or the notes cannot be opened, or the port cannot be had.
    """
    listener = bind(settings.host, settings.port)
    with listener, _service(settings, root, store, model, notes, scope) as (service, app):
        asyncio.run(_run(_uvicorn(app, settings), service, listener, announce))


@contextmanager
def _service(
    settings: Settings,
    root: Path,
    store: Path,
    model: str | Embedder | None,
    notes: Path | None,
    scope: SessionContext | None,
) -> Iterator[tuple[Service, ASGIApp]]:
    from pi_rank.recall.server.app import create_app

    metrics = Metrics()
    audit = AuditLog(
        settings.audit_log,
        max_bytes=settings.audit_max_bytes,
        backups=settings.audit_backups,
        auth_enabled=settings.token is not None,
    )
    engine = open_noted(root, store, model)
    with engine:
        refresher = Refresher(engine)
        refresher.start()
        keeper = NoteKeeper(notes or store.with_name(NOTES_FILE), engine)
        try:
            keeper.publish()
            service = Service(engine, keeper, refresher, audit, metrics, scope)
            yield service, create_app(service, settings, audit, metrics)
            service.close()
        finally:
            keeper.close()
            audit.close()


async def _run(
    server: uvicorn.Server, service: Service, listener: socket.socket, announce: Callable[[str], None]
) -> None:
    refreshing = asyncio.create_task(service.refresher.run())
    announcing = asyncio.create_task(_announce(server, listener, announce))
    try:
        await server.serve(sockets=[listener])
    finally:
        for task in (refreshing, announcing):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await refreshing


async def _announce(server: uvicorn.Server, listener: socket.socket, announce: Callable[[str], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = listener.getsockname()[:2]
    announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


def _uvicorn(app: ASGIApp, settings: Settings) -> uvicorn.Server:
    import uvicorn

    from pi_rank.recall.server.connection import connection_class
    from pi_rank.recall.server.stoppable import StoppableServer

    # uvicorn reports broken requests and stack traces with the text of errors; the gate has its own log.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        app,
        http=connection_class(settings.header_seconds, settings.body_seconds),
        ws="none",
        lifespan="off",
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
