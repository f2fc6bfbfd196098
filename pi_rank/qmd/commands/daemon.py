"""`daemon start|stop|status`: the warm process of this user's index."""

from __future__ import annotations

import os
import signal
import socket
import time

from pi_rank.files.locks import holder, is_held
from pi_rank.qmd import config as configuration
from pi_rank.qmd.background import Background, start
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.launcher import MAGIC, MAX_SOCKET_PATH, ask

START_SECONDS = 20.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.05
USAGE = "Usage: qmd daemon start [--on-demand] [--idle-minutes N] | stop | status"


def run_daemon(call: Call) -> int:
    """One of the `daemon` commands."""
    action = call.words[0] if call.words else "status"
    if action == "start":
        return _start(call)
    if action == "stop":
        return _stop(call)
    if action == "status":
        return _status(call)
    raise QmdError(f"Unknown daemon command: {action}\n{USAGE}")


def require_socket(call: Call) -> None:
    """Refuse where there can be no daemon.

    :raises QmdError: it says why.
    """
    path = call.places.socket
    if not hasattr(socket, "AF_UNIX"):
        raise QmdError("There are no Unix sockets on this system; commands work without a daemon.")
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise QmdError(
            f"The path of the socket is too long: {path}\nSet XDG_CACHE_HOME or INDEX_PATH to a shorter one."
        )


def spawn(call: Call) -> Background:
    """Start a daemon, and do not wait for it. Where one runs already, the new one ends at once."""
    return start(_serve_words(call), call.places.log, call.environment)


def _serve_words(call: Call) -> list[str]:
    words = ["serve-daemon", "--index", call.places.name]
    minutes = call.arguments.value("idle_minutes")
    return [*words, "--idle-minutes", minutes] if minutes else words


def _start(call: Call) -> int:
    require_socket(call)
    _set_on_demand(call, call.has("on_demand"))
    if is_held(call.places.daemon_lock):
        call.line(f"Already running (PID {holder(call.places.daemon_lock)})")
        return 0
    child = spawn(call)
    deadline = time.monotonic() + START_SECONDS
    while ask(str(call.places.socket), MAGIC + b"ping") is None:
        if time.monotonic() > deadline or child.poll() is not None:
            raise QmdError(f"The daemon did not start; see {call.places.log}")
        time.sleep(POLL_SECONDS)
    call.line(f"Started (PID {holder(call.places.daemon_lock)}), socket {call.places.socket}")
    if call.has("on_demand"):
        call.line("From now on a search that finds no daemon starts one.")
    return 0


def _stop(call: Call) -> int:
    _set_on_demand(call, False)
    pid = holder(call.places.daemon_lock)
    if pid is None or not is_held(call.places.daemon_lock):
        call.line("Not running")
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_held(call.places.daemon_lock):
        if time.monotonic() > deadline:
            raise QmdError(f"The daemon (PID {pid}) did not stop within {STOP_SECONDS:.0f} seconds")
        time.sleep(POLL_SECONDS)
    call.line(f"Stopped (PID {pid})")
    return 0


def _status(call: Call) -> int:
    if not is_held(call.places.daemon_lock):
        call.line("Not running")
        return 0
    answers = ask(str(call.places.socket), MAGIC + b"ping") is not None
    state = "running" if answers else "starting or stuck"
    call.line(f"{state} (PID {holder(call.places.daemon_lock)}), socket {call.places.socket}")
    return 0


def _set_on_demand(call: Call, wanted: bool) -> None:
    if configuration.load(call.places.config).daemon_on_demand != wanted:
        with configuration.changing(call.places.config) as box:
            box[0] = box[0]._replace(daemon_on_demand=wanted)
