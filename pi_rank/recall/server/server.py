"""The server: opens memory, binds the port, serves until it is told to stop, and finishes what it has
begun.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.keeper import NoteKeeper
from pi_rank.recall.server.audit import AuditLog
from pi_rank.recall.server.metrics import Metrics
from pi_rank.recall.server.refresh import Refresher
from pi_rank.recall.server.service import Service
from pi_rank.recall.server.settings import Settings
from pi_rank.serving.listener import bind, uvicorn_server

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from pi_rank.context import SessionContext
    from pi_rank.embedding import Embedder
    from pi_rank.memory.sources.protocol import SourceSpec
    from pi_rank.recall.notes.engine import NotedEngine

NOTES_FILE = "notes.jsonl"
AUDIT_FILE = "recall-audit.jsonl"


def serve(
    settings: Settings,
    root: Path,
    *,
    store: Path,
    model: str | Embedder | None,
    notes: Path | None = None,
    scope: SessionContext | None = None,
    sources: Sequence[SourceSpec] | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve a memory root until SIGINT or SIGTERM.

    :param store: the store's file; the notes file is beside it unless `notes` names another.
    :param sources: memory in other forms, as in `MemoryEngine.open`.
    :param announce: called once with the server's URL, when it can be asked.
    :raises PiRankError: memory or the notes cannot be opened, or the port cannot be had.
    """
    listener = bind(settings.host, settings.port)
    with listener:
        engine = open_noted(root, store, model, sources)
        with _service(settings, engine, store, notes, scope) as (service, app):
            asyncio.run(_run(uvicorn_server(app, settings), service, listener, announce))


@contextmanager
def _service(
    settings: Settings,
    engine: NotedEngine,
    store: Path,
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
