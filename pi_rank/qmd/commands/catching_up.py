"""Embeds what has been indexed and has no vector yet, without being asked: beside a process that lives long.

The work is done by a `qmd embed` of low priority: answers do not wait for it, and it may be killed.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_rank.errors import PiRankError
from pi_rank.files.locks import is_held
from pi_rank.qmd import config as configuration
from pi_rank.qmd.background import start
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import MEMORY
from pi_rank.qmd.search.collection_facts import all_embedded
from pi_rank.qmd.search.library import opened_library

LOOK_SECONDS = 0.5
RETRY_SECONDS = 60.0  # where something is left over and nothing has changed: the model may be missing
NICENESS = 10

_Signature = tuple[tuple[str, int, int], ...]


@contextmanager
def catching_up(call: Call) -> Iterator[None]:
    """While the block runs, whatever is added to the call's index gets embedded."""
    stop = threading.Event()
    worker = threading.Thread(target=_Worker(call, stop).run, name="qmd-catching-up", daemon=True)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


class _Worker:
    def __init__(self, call: Call, stop: threading.Event) -> None:
        self._call = call
        self._stop = stop
        self._known: _Signature | None = None
        self._again = 0.0

    def run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self._look()
            except (PiRankError, OSError, sqlite3.Error) as error:  # the next command says it to its user
                print(f"catching up: {error}", file=sys.stderr, flush=True)
                self._again = time.monotonic() + RETRY_SECONDS

    def _look(self) -> None:
        """Embed what is missing, if anything has changed since nothing was, or since it could not be."""
        now = self._signature()
        if (now == self._known and time.monotonic() < self._again) or is_held(self._call.places.embed_lock):
            return
        # What comes while it is at work makes another signature, and is looked at again.
        self._known, self._again = now, float("inf")
        if self._pending():
            self._embed()
            self._again = time.monotonic() + RETRY_SECONDS

    def _pending(self) -> int:
        with opened_library(self._call.places) as library:
            return all_embedded(library).pending

    def _embed(self) -> None:
        places = self._call.places
        child = start(["embed", "--index", places.name], places.log, self._call.environment)
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, child.pid, NICENESS)
        while not self._stop.is_set():
            try:
                child.wait(LOOK_SECONDS)
                return
            except subprocess.TimeoutExpired:
                continue
        child.terminate()  # what it has embedded is stored; the rest is for the next one
        child.wait()

    def _signature(self) -> _Signature:
        """What the files that say what is missing look like: configuration, index and stores."""
        places = self._call.places
        known = configuration.load(places.config).collections.values()
        stores = [Path(each.store) for each in known if each.kind == MEMORY]
        databases = [places.database, *stores]
        # The latest changes of an SQLite file may still be in the log beside it.
        logs = [path.with_name(f"{path.name}-wal") for path in databases]
        return tuple(_looks(path) for path in (places.config, *databases, *logs))


def _looks(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns
