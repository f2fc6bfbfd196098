"""`mcp`: the MCP server on stdio, over HTTP, or over HTTP in the background."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.files.locks import Held, exclusive, holder, is_held
from pi_rank.qmd import config as configuration
from pi_rank.qmd.background import start
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.commands.catching_up import catching_up
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.warm.warm import Warm

if TYPE_CHECKING:
    from pi_rank.serving.settings import ServerSettings

PORT = 8181
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 20.0, 10.0, 0.05


def run_mcp(call: Call) -> int:
    """Serve until the client goes away (stdio) or a signal comes (HTTP).

    `stop` ends one in the background.
    """
    if call.words[:1] == ["stop"]:
        return _stop(call)
    if call.has("http"):
        return _start_in_background(call) if call.has("daemon") else _serve_http(call)
    from pi_rank.qmd.mcp.server import run_stdio
    from pi_rank.qmd.mcp.tools import Tools

    with Warm.opened(call.places) as warm, catching_up(call):
        _preload(call, warm)
        run_stdio(Tools(call.places, warm, call.directory))
    return 0


def _serve_http(call: Call) -> int:
    from pi_rank.qmd.mcp.server import http_app
    from pi_rank.qmd.mcp.tools import Tools
    from pi_rank.serving.listener import bind, uvicorn_server

    settings = _settings(call)
    try:
        with (
            exclusive(_lock(call)),
            bind(settings.host, settings.port) as listener,
            Warm.opened(call.places) as warm,
            catching_up(call),
        ):
            _preload(call, warm)
            app = http_app(Tools(call.places, warm, call.directory), settings)
            call.note(f"QMD MCP server listening on {_url(settings)}")
            uvicorn_server(app, settings, lifespan=True).run(sockets=[listener])
    except Held as held:
        raise QmdError(f"Already running (PID {held.pid}). Run 'qmd mcp stop' first.") from None
    return 0


def _start_in_background(call: Call) -> int:
    settings = _settings(call)
    if is_held(_lock(call)):
        raise QmdError(f"Already running (PID {holder(_lock(call))}). Run 'qmd mcp stop' first.")
    log = call.places.log.with_suffix(".mcp.log")
    words = [
        "mcp",
        "--http",
        "--host",
        settings.host,
        "--port",
        str(settings.port),
        "--index",
        call.places.name,
    ]
    for name in settings.allowed_hosts:
        words += ["--allow-host", name]
    if file := _token_file(call):
        words += ["--token-file", str(file)]
    child = start(words, log, call.environment)
    deadline = time.monotonic() + START_SECONDS
    while not _listens(settings.host, settings.port):
        if child.poll() is not None or time.monotonic() > deadline:
            raise QmdError(f"The server did not start; see {log}")
        time.sleep(POLL_SECONDS)
    call.line(f"Started on {_url(settings)} (PID {child.pid})\nLogs: {log}")
    return 0


def _settings(call: Call) -> ServerSettings:
    """Those of `pi-rank serve`, with its token rule: beyond loopback nobody is served without one.

    :raises ConfigError: they do not fit together.
    """
    from pi_rank.serving.settings import DEFAULT_HOST, ServerSettings, token_from

    return ServerSettings(
        host=call.arguments.value("host") or DEFAULT_HOST,
        port=call.arguments.number("port", PORT),
        token=token_from(_token_file(call), call.environment),
        allowed_hosts=tuple(name.lower() for name in call.arguments.values.get("allow_host", [])),
    )


def _token_file(call: Call) -> Path | None:
    given = call.arguments.value("token_file")
    return call.absolute(given) if given else None


def _url(settings: ServerSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}/mcp"


def _stop(call: Call) -> int:
    pid = holder(_lock(call))
    if pid is None or not is_held(_lock(call)):
        call.line("Not running.")
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_held(_lock(call)):
        if time.monotonic() > deadline:
            raise QmdError(f"The server (PID {pid}) did not stop within {STOP_SECONDS:.0f} seconds")
        time.sleep(POLL_SECONDS)
    call.line(f"Stopped (PID {pid})")
    return 0


def _preload(call: Call, warm: Warm) -> None:
    """Load model and indexes while the client is still introducing itself."""
    collections = list(configuration.load(call.places.config).collections.values())
    threading.Thread(target=warm.preload, args=(collections,), daemon=True).start()


def _lock(call: Call) -> Path:
    return call.places.database.with_suffix(".mcp.lock")


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), POLL_SECONDS).close()
    except OSError:
        return False
    return True
