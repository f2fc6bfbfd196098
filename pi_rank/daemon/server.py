"""The warm process of a user: accepts connections, one command each, and runs them one after the other."""

from __future__ import annotations

import os
import signal
import socket
import stat
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from pi_rank.daemon.client import BEGUN, ELSEWHERE, SERVED, is_same_user
from pi_rank.daemon.request import Request, close, packed, received
from pi_rank.daemon.surroundings import Run, answered
from pi_rank.errors import PiRankError
from pi_rank.qmd.arguments import parse as parse_qmd
from pi_rank.qmd.launcher import SERVED as QMD_SEARCHES
from pi_rank.serving.program import Program
from pi_rank.serving.socket_file import SocketFile

THREADS = 8
REQUEST_SECONDS = 5.0  # for a client to say all that it wants
QUEUE_SECONDS = 0.25  # for the command before; then the client does the work itself, as on a busy morning
LOOK_AROUND_SECONDS = 1.0
# More turns than this holds are the work of a process of their own, which does not keep the prompts waiting.
MOST_BATCH_BYTES = 256 << 10
# Read once, when a model is loaded: with another value the answer might be another.
FIXED = ("PI_RANK_KERNEL",)


class Server:
    """Crash-only: it leaves nothing that its successor cannot clear away.

    :param run: runs a command on this process's streams: (words, when its client began) → exit code.
    :param log: where it says what went wrong.
    """

    def __init__(self, path: Path, run: Run, idle_seconds: float, log: TextIO) -> None:
        self._path = path
        self._file = SocketFile(path)
        self._run = run
        self._idle_seconds = idle_seconds
        self._log = log
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._running = threading.Lock()
        self._program = Program()
        self._own = {name: os.environ.get(name) for name in FIXED}

    def serve(self, first: Request | None = None) -> bool:
        """Serve until there is a reason to end; True where that is a newer program on disk.

        :param first: a command to run before any client's, whose answer nobody waits for.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        _require_private(self._path.parent)
        with (
            self._file.bound(LOOK_AROUND_SECONDS) as listener,
            ThreadPoolExecutor(THREADS, "daemon") as pool,
        ):
            if first is not None:
                pool.submit(self._warmed, first)
            try:
                while self._should_go_on():
                    try:
                        line, _ = listener.accept()
                    except TimeoutError:
                        continue
                    pool.submit(self._serve_one, line)
            finally:
                self._file.withdraw()
        return self._program.changed()

    def _should_go_on(self) -> bool:
        idle = time.monotonic() - self._last > self._idle_seconds and not self._running.locked()
        return not (self._stop.is_set() or idle or not self._file.is_ours() or self._program.changed())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    def _warmed(self, request: Request) -> None:
        try:
            with self._running:
                answered(request, self._run)
        except Exception:  # it serves all the same
            traceback.print_exc(file=self._log)
        finally:
            close([request.folder])

    def _serve_one(self, line: socket.socket) -> None:
        with line:
            try:
                line.settimeout(REQUEST_SECONDS)
                if is_same_user(line, str(self._path)):
                    self._answer(line)
            except OSError as error:  # the client went away, which is its right
                print(f"request: {error}", file=self._log, flush=True)
            except Exception:  # one request must not end the others; the client helps itself
                traceback.print_exc(file=self._log)

    def _answer(self, line: socket.socket) -> None:
        request = received(line)
        if request is None:
            line.sendall(ELSEWHERE)
            return
        try:
            if not self._is_served(request) or not self._running.acquire(timeout=QUEUE_SECONDS):
                line.sendall(ELSEWHERE)
                return
            try:
                self._last = time.monotonic()
                line.sendall(BEGUN)
                answer = packed(*answered(request, self._run))
            finally:
                self._last = time.monotonic()
                self._running.release()
            line.settimeout(None)  # whoever reads an answer may do so slowly
            line.sendall(answer)
        finally:
            close([request.folder])

    def _is_served(self, request: Request) -> bool:
        """Whether the answer is the one that the client would find, and worth finding here."""
        words = request.words
        if words[0] not in SERVED or "--no-daemon" in words or self._stop.is_set():
            return False
        if any(request.environment.get(name) != self._own[name] for name in FIXED):
            return False
        if words[0] == "qmd":
            return _is_qmd_search(words[1:])
        if any(_names_a_model(words, at) for at in range(len(words))):
            return False
        return words[0] != "batch" or _is_small_batch(request)


def _names_a_model(words: list[str], at: int) -> bool:
    """Whether a model of the user's own is asked for, which may bring gigabytes along."""
    option, equals, value = words[at].partition("=")
    if option != "--model":
        return False
    if not equals:
        value = words[at + 1] if at + 1 < len(words) else ""
    return value not in ("default", "none")


def _is_qmd_search(words: list[str]) -> bool:
    """Whether qmd is asked for what it only reads; what waits for a model is a process of its own."""
    known = parse_qmd(words)
    return bool(known.words) and known.words[0] in QMD_SEARCHES and "wait" not in known.switches


def _is_small_batch(request: Request) -> bool:
    sizes = [len(request.stdin)]
    for word in request.words[1:]:
        with suppress(OSError, ValueError):
            sizes.append(os.stat(word, dir_fd=request.folder).st_size)
    return max(sizes) <= MOST_BATCH_BYTES


def _require_private(folder: Path) -> None:
    """Make the folder for its owner alone.

    :raises PiRankError: others may write there, or it is somebody else's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PiRankError(f"{folder} is not a folder of this user's; the daemon needs one for its socket")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
