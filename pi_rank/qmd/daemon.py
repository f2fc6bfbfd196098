"""The daemon: one warm process for one index, which answers the searches of many short-lived ones."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import NamedTuple

from pi_rank.errors import PiRankError
from pi_rank.files.locks import Held, exclusive
from pi_rank.qmd import config as configuration
from pi_rank.qmd.arguments import parse
from pi_rank.qmd.command import FAILED, dispatch
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.commands.catching_up import catching_up
from pi_rank.qmd.commands.daemon import require_socket
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.launcher import MAGIC, SERVED, TRY_ELSEWHERE, VARIABLES
from pi_rank.qmd.paths import Places, places
from pi_rank.qmd.warm.warm import Warm
from pi_rank.serving.program import Program
from pi_rank.serving.socket_file import SocketFile

IDLE_MINUTES = 120
MAX_REQUEST_BYTES = 4 << 20
REQUEST_SECONDS = 5.0  # for a client to say all that it wants
VECTOR_SECONDS = 0.3  # then the answer goes by words: the clients wait for half a second
THREADS = 8
LOOK_AROUND_SECONDS = 1.0
PING = b"ping"


class Request(NamedTuple):
    """What a client wants, from where, and the part of its environment that matters."""

    directory: str
    environment: dict[str, str]
    argv: list[str]


def run_serve(call: Call) -> int:
    """Serve until idle for long, stopped, or replaced by a newer version of this program.

    :raises QmdError: another daemon serves this index, or there can be none here.
    """
    require_socket(call)
    minutes = call.arguments.number("idle_minutes", IDLE_MINUTES)
    try:
        with (
            exclusive(call.places.daemon_lock),
            Warm.opened(call.places, patience=VECTOR_SECONDS) as warm,
            catching_up(call),
        ):
            outdated = Daemon(call.places, warm, minutes * 60.0).serve()
    except Held as held:
        raise QmdError(f"Already running (PID {held.pid}). Run 'qmd daemon stop' first.") from None
    if outdated:
        os.execv(sys.executable, sys.orig_argv)
    return 0


class Daemon:
    """Accepts connections, one request each.

    Crash-only: it leaves nothing that its successor cannot clear away.
    """

    def __init__(self, where: Places, warm: Warm, idle_seconds: float) -> None:
        self._places = where
        self._file = SocketFile(where.socket)
        self._warm = warm
        self._idle_seconds = idle_seconds
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._program = Program()
        self._own = {name: os.environ.get(name) for name in VARIABLES}

    def serve(self) -> bool:
        """Serve until there is a reason to end; True where that is a newer program on disk."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._places.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.bound(LOOK_AROUND_SECONDS) as listener, ThreadPoolExecutor(THREADS, "qmd") as pool:
            pool.submit(self._preload)
            try:
                while self._should_go_on():
                    try:
                        line, _ = listener.accept()
                    except TimeoutError:
                        continue
                    self._last = time.monotonic()
                    pool.submit(self._serve_one, line)
            finally:
                self._file.withdraw()
        return self._program.changed()

    def _should_go_on(self) -> bool:
        idle = time.monotonic() - self._last > self._idle_seconds
        return not (self._stop.is_set() or idle or not self._file.is_ours() or self._program.changed())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    def _preload(self) -> None:
        try:
            config = configuration.load(self._places.config)
            self._warm.preload(list(config.collections.values()))
        except Exception:  # a daemon without a warm index still answers, and says why on each request
            traceback.print_exc()

    def _serve_one(self, line: socket.socket) -> None:
        with line:
            try:
                line.settimeout(REQUEST_SECONDS)
                line.sendall(self._reply(_received(line)))
            except OSError as error:  # the client went away, which is its right
                print(f"request: {error}", file=sys.stderr)
            except Exception:  # one request must not end the others; the client helps itself
                traceback.print_exc()

    def _reply(self, data: bytes) -> bytes:
        if data == MAGIC + PING:
            return packed(0, "", "")
        request = unpacked(data)
        if request is None or not self._is_served(request):
            return packed(TRY_ELSEWHERE, "", "")
        out: list[str] = []
        err: list[str] = []
        try:
            arguments = parse(request.argv)
            where = places(request.environment, arguments.value("index") or "index")
            if where != self._places:
                return packed(TRY_ELSEWHERE, "", "")
            call = Call(
                arguments, where, request.environment, request.directory, out.append, err.append, self._warm
            )
            code = dispatch(call)
        except (PiRankError, OSError) as error:
            err.append(f"{error}\n")
            code = FAILED
        return packed(code, "".join(out), "".join(err))

    def _is_served(self, request: Request) -> bool:
        """Whether the answer here is the one that the client would find itself."""
        same = all(
            request.environment.get(name) == self._own[name]
            for name in VARIABLES
            if name != "PI_RANK_QMD_MODE"
        )
        return same and bool(request.argv) and "--wait" not in request.argv


def _received(line: socket.socket) -> bytes:
    data = b""
    while part := line.recv(1 << 16):
        data += part
        if len(data) > MAX_REQUEST_BYTES:
            return b""
    return data


def unpacked(data: bytes) -> Request | None:
    """The request of a client of this version.

    None for anything else, and for commands that are not served.
    """
    if not data.startswith(MAGIC):
        return None
    directory, *rest = data[len(MAGIC) :].decode("utf-8", "surrogateescape").split("\0")
    if not rest:
        return None
    count, *words = rest
    known = int(count) if re.fullmatch("[0-9]{1,9}", count) else 0
    environment = dict(word.split("=", 1) for word in words[:known] if "=" in word)
    argv = words[known:]
    command = parse(argv).words[:1]
    return Request(directory, environment, argv) if command and command[0] in SERVED else None


def packed(code: int, out: str, err: str) -> bytes:
    """A reply."""
    body, notes = (text.encode("utf-8", "backslashreplace") for text in (out, err))
    head = bytes([code]) + len(body).to_bytes(4, "big") + len(notes).to_bytes(4, "big")
    return MAGIC + head + body + notes
