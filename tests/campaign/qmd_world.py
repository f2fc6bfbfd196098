"""A world of documents and memory with one qmd server of any kind on it, which outlives its cases."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.campaign.door import REPOSITORY
from tests.qmd.conftest import World
from tests.support.memory import write_root

SECRET = "zqcanary"
HIDDEN = "canary of a deleted record"
DEEP = "/".join(f"dir{number}" for number in range(16))
START_SECONDS = 60.0


class Served:
    """The world, the process, and what it has logged."""

    def __init__(self, folder, *words, pipes=False):
        self.home = Path(folder, "world")
        self.home.mkdir()
        world = World(self.home)
        world.environment.pop("PI_RANK_QMD_DAEMON")
        world.environment["PYTHONPATH"] = str(REPOSITORY)
        world.environment["PYTHONFAULTHANDLER"] = "1"
        world.documents()
        world.write("outside.md", f"# Outside\n\n{SECRET}")
        world.write(f"docs/{DEEP}/deep.md", "# Deep\n\nx")
        records = [{"id": f"mem_{n}", "statement": f"deploy the orchard on friday {n}"} for n in range(10)]
        gone = {"id": "mem_gone", "statement": HIDDEN}
        other = {"id": "mem_other", "statement": "canary of another", "profile_id": "project:other"}
        write_root(self.home / "root", [*records, gone, other], tombstones=["mem_gone"])
        self.world = world
        world.ok("collection", "add", str(self.home / "docs"), "--name", "n", PI_RANK_QMD_DAEMON="off")
        world.ok("collection", "add", str(self.home / "root"), "--name", "m", PI_RANK_QMD_DAEMON="off")
        self._log = self.home / "server.log"
        pipe = subprocess.PIPE if pipes else subprocess.DEVNULL
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pi_rank.cli", "qmd", *words],
                cwd=self.home,
                env=world.environment,
                stdin=pipe,
                stdout=pipe,
                stderr=log,
            )

    def until(self, condition):
        """Wait until the server is there."""
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert self.process.poll() is None and time.monotonic() < deadline, self._log.read_bytes()[
                -2_000:
            ]
            time.sleep(0.05)

    def logged(self):
        """How much is in the log."""
        return self._log.stat().st_size

    def check(self, trial, since):
        """Notes it where the server has ended, or has logged a traceback since."""
        said = self._log.read_bytes()[since:]
        tail = said[-2_500:].decode("utf-8", "replace")
        trial.check(b"Traceback" not in said, "a traceback is logged", tail)
        trial.check(self.process.poll() is None, "the server has ended", tail)

    def close(self):
        """Ends the server, which has ten seconds to obey."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, 9)
            self.process.wait()
            raise
        finally:
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()


def check_answer(trial, answer, asked):
    """What no answer of any qmd server may hold."""
    for canary in (SECRET, HIDDEN, "root:x:0"):
        trial.check(canary not in answer or canary in asked, "what nobody may see is shown", asked[:500])
    trial.check("Traceback" not in answer, "a traceback is answered", answer[-2_000:])
