"""Kills a qmd command that changes index or configuration: the next one finds what a fresh index has."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.campaign.door import REPOSITORY, Door
from tests.qmd.conftest import World
from tests.support.snapshots import WORDS

DOCUMENTS = 60


class QmdKills(Door):
    """One index over a folder that changes; each case is a command that is killed on its way."""

    deadline = 120.0
    repeatable = False

    def __init__(self, folder):
        super().__init__(folder)
        home = Path(folder, "world")
        home.mkdir()
        self._world = World(home)
        self._world.environment["PYTHONPATH"] = str(REPOSITORY)
        self._write(random.Random(0))
        self._world.ok("collection", "add", str(home / "docs"), "--name", "n")
        self._fresh = 0

    def make(self, chance):
        command = chance.choice(
            [
                ["update"],
                ["update"],
                ["cleanup"],
                ["collection", "add", "docs", "--name", "again", "--mask", "*.md"],
            ]
        )
        return {
            "command": command,
            "after": round(chance.uniform(0.05, 0.9), 3),
            "seed": chance.randrange(2**31),
        }

    def run(self, case, trial):
        trial.inputs += 1
        self._write(random.Random(case["seed"]))
        child = subprocess.Popen(
            [sys.executable, "-m", "pi_rank.cli", "qmd", *case["command"]],
            cwd=self._world.home,
            env=self._world.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(case["after"])
        child.kill()
        trial.tallies["kills"] += child.wait() == -signal.SIGKILL
        with trial.expecting("after a kill"):
            for command in (["update"], ["status"]):
                ran = self._world.qmd(*command)
                trial.check(ran.code == 0, f"{command[0]} fails after a kill", ran.err)
            self._world.qmd("collection", "remove", "again")
            trial.check(self._found(self._world) == self._from_nothing(), "not as a fresh index finds")

    def _write(self, chance):
        for number in range(DOCUMENTS):
            if chance.random() < 0.3:
                words = " ".join(chance.choices(WORDS, k=30))
                self._world.write(f"docs/note{number}.md", f"# Note {number}\n\n{words}\n")

    def _found(self, world):
        return [world.ok("search", word, "--json", "-n", "100") for word in WORDS]

    def _from_nothing(self):
        self._fresh += 1
        other = World(self._world.home)
        other.environment |= {
            "XDG_CACHE_HOME": str(self.folder / f"fresh{self._fresh}"),
            "XDG_CONFIG_HOME": str(self.folder / f"fresh{self._fresh}"),
        }
        other.ok("collection", "add", str(self._world.home / "docs"), "--name", "n")
        return self._found(other)
