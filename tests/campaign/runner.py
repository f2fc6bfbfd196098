"""Gives each door its share of the time, in processes of their own, and collects what they say."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from typing import NamedTuple

from tests.campaign.corpus import keep_case
from tests.campaign.door import REPOSITORY
from tests.campaign.registry import door_class

START_SECONDS = 60.0  # for a worker to import what it needs, on a busy machine
MEMORY_BYTES = 4 << 30  # of address space for a worker, and whatever it starts
GRACE_SECONDS = 60.0
BEGIN_SECONDS = 2.0  # until most workers have begun


class Fault(NamedTuple):
    """One thing that went wrong: at which door, what, the worker's seed, and the file of its case, if any."""

    door: str
    kind: str
    detail: str
    seed: str
    path: Path | None


class Tally:
    """What was done at one door."""

    def __init__(self):
        self.cases = 0
        self.inputs = 0
        self.seconds = 0.0
        self.counts = Counter()
        self.faults = []
        self.skipped = ""


class Campaign:
    """A run. `tallies` are by door and may be read at any time, also after an interruption."""

    def __init__(self, doors, *, seed, corpus=None, workers=2, on_progress=lambda campaign: None):
        self.tallies = {name: Tally() for name in doors}
        self.seed = seed
        self._corpus = corpus
        self._workers = workers
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @property
    def faults(self):
        """All faults, in the order of doors."""
        return [fault for tally in self.tallies.values() for fault in tally.faults]

    def run(self, seconds):
        """Works for so long. An interruption ends all workers, and is raised again."""
        doors = []
        for name, tally in self.tallies.items():
            tally.skipped = door_class(name).missing()
            if not tally.skipped:
                doors.append(name)
        until = time.monotonic() + seconds
        share = _share(seconds, len(doors), self._workers)
        queue = Queue()
        for number in range(1_000_000 if share < seconds else 1):
            for name in random.Random(f"{self.seed}.{number}").sample(doors, len(doors)):
                queue.put((name, f"{self.seed}.{number}"))
            if (number + 1) * share * len(doors) > 2 * seconds * self._workers:
                break
        threads = [
            threading.Thread(target=self._serve, args=(queue, until, share)) for _ in range(self._workers)
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.5)
                self._on_progress(self)
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _serve(self, queue, until, share):
        while not self._stop.is_set():
            left = until - time.monotonic()
            try:
                name, seed = queue.get_nowait()
            except Empty:
                return
            if left < 1:
                return
            self._slice(name, seed, min(share, left))

    def _slice(self, name, seed, seconds):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True) as folder:
            worker = _Worker(name, seed, seconds, Path(folder))
            try:
                for message in worker.messages(self._stop):
                    self._take(name, seed, message)
            finally:
                worker.end()
        with self._lock:
            self.tallies[name].seconds += time.monotonic() - began

    def _take(self, name, seed, message):
        tally = self.tallies[name]
        with self._lock:
            if "inputs" in message:
                tally.cases += 1
                tally.inputs += message["inputs"]
                tally.counts.update(message["tallies"])
            if "kind" in message and all(fault.kind != message["kind"] for fault in tally.faults):
                keeps = self._corpus is not None and message.get("case") is not None
                path = keep_case(name, message["kind"], message["case"], self._corpus) if keeps else None
                tally.faults.append(Fault(name, message["kind"], message["detail"], seed, path))


class _Worker:
    """One process at one door, and the guard over it."""

    def __init__(self, name, seed, seconds, folder):
        self._name, self._folder = name, folder
        self._deadline = 3 * door_class(name).deadline
        command = [sys.executable, "-m", "tests.campaign.worker", name, seed, str(seconds), str(folder)]
        self._errors = (folder / "stderr").open("w+b")
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # with whatever it starts, it can be ended as one
            preexec_fn=_limited if sys.platform == "linux" else None,
        )
        self._lines = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def messages(self, stop):
        """What the worker says, and what became of it where it does not end as it should."""
        wait, begun = START_SECONDS, ""
        while True:
            try:
                line = self._next(wait, stop)
            except Empty:
                yield self._died("hung", f"nothing was heard for {wait:.0f} s ({begun}){self._where()}")
                return
            if line is None:
                break
            message = json.loads(line)
            begun = message.get("begun", "")
            wait = self._deadline if begun else max(self._deadline, GRACE_SECONDS)
            yield message
        if stop.is_set():
            return
        code = self._process.wait()
        if code:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            yield self._died(f"died: {name}", self._tail())

    def end(self):
        """Ends the worker, and whatever it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.wait()
        self._errors.close()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _next(self, wait, stop):
        until = time.monotonic() + wait
        while not stop.is_set():
            try:
                return self._lines.get(timeout=0.2)
            except Empty:
                if time.monotonic() > until:
                    raise
        return None

    def _where(self):
        self._process.send_signal(signal.SIGABRT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            return ""
        return "\n" + self._tail()

    def _tail(self):
        self._errors.seek(0)
        return self._errors.read()[-3_000:].decode("utf-8", "replace")

    def _died(self, kind, detail):
        try:
            case = json.loads((self._folder / "case.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            case = None
        return {"kind": kind, "detail": detail, "case": case}


def environment(folder):
    """Variables of a process of the campaign: home, caches and settings are in its folder."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("QMD_", "XDG_", "PI_RANK_", "PI_MEMORY", "INDEX_PATH"))
        and "_API_" not in name
    }
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return kept | {
        "HOME": str(home),
        "PI_RANK_CACHE_DIR": str(folder / "cache"),
        "XDG_CACHE_HOME": str(folder / "xdg-cache"),
        "XDG_CONFIG_HOME": str(folder / "xdg-config"),
        "TMPDIR": str(folder),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(REPOSITORY),
    }


def _limited():
    import resource

    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # AddressSanitizer maps terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _share(seconds, doors, workers):
    """Seconds of one slice: where there is time, each door has its turn in the first fifth of it."""
    fair = max(seconds * workers / max(doors, 1) - BEGIN_SECONDS, 1.0)
    return min(max(fair / 5, 10.0), fair, 60.0)
