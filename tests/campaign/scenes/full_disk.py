"""A full disk: nothing acknowledged is lost, nothing refused is kept, and with room again all is right."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from pi_rank import MemoryEngine, SessionContext
from pi_rank.errors import PiRankError
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.keeper import NoteKeeper
from tests.campaign.door import Door
from tests.support.memory import write_root
from tests.support.snapshots import EMBEDDER, WORDS

ROOM_MIB = 64
RECORDS = 1_500


class FullDisk(Door):
    """A file system of its own, so small that writers meet its end; needs root, to mount one."""

    deadline = 120.0
    repeatable = False

    @classmethod
    def missing(cls):
        if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
            return "a file system of a given size can be mounted by root on Linux only"
        probe = Path(f"/tmp/campaign-probe-{os.getpid()}")
        probe.mkdir(exist_ok=True)
        try:
            ran = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(probe)], capture_output=True
            )
            if ran.returncode == 0:
                subprocess.run(["umount", str(probe)], check=True)
            return "" if ran.returncode == 0 else "no file system can be mounted here"
        finally:
            probe.rmdir()

    def __init__(self, folder):
        super().__init__(folder)
        self._disk = folder / "disk"
        self._disk.mkdir()
        self._root = folder / "root"

    def make(self, chance):
        return {
            "kib": chance.choice([64, 300, 800, 1_500, 3_000, 6_000, 12_000]),
            "left": chance.choice([0, 20, 200]),
            "seed": chance.randrange(2**31),
        }

    def run(self, case, trial):
        trial.inputs += 1
        chance = random.Random(case["seed"])
        records = list(_records(chance))
        write_root(self._root, records)
        self._mount(f"size={case['kib']}k")
        try:
            notes = self._work(chance, case["left"], trial)
            (self._disk / "fill").unlink(missing_ok=True)
            self._mount(f"remount,size={ROOM_MIB}m")
            self._check(records, notes, trial)
        finally:
            subprocess.run(["umount", "-l", str(self._disk)], check=True)

    def _mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._disk)], check=True)

    def _work(self, chance, left, trial):
        """Everything that writes, with an answer or an error of ours; (acknowledged, refused) notes."""
        acknowledged, refused = [], []
        steps = [
            self._sync,
            lambda: self._turn(trial),
            lambda: self._remember(chance, left, acknowledged, refused),
        ]
        for work in steps:
            with trial.expecting("on a full disk", PiRankError):
                work()
        trial.tallies["notes acknowledged"] += len(acknowledged)
        trial.tallies["notes refused"] += len(refused)
        return acknowledged, refused

    def _sync(self):
        with MemoryEngine.open(self._root, store=self._disk / "store.sqlite3", model=EMBEDDER) as engine:
            engine.sync()

    def _turn(self, trial):
        with MemoryEngine.open(self._root, store=self._disk / "store.sqlite3", model=EMBEDDER) as engine:
            engine.build_retrieval_context(SessionContext(latest_user_message="how do we deploy tests?"))
            trial.tallies["turns"] += 1

    def _remember(self, chance, left, acknowledged, refused):
        async def remember():
            keeper = NoteKeeper(self._disk / "notes.jsonl", engine)
            self._fill(left)
            try:
                for number in range(60):
                    content = f"note {number} " + "x" * chance.choice([10, 3_000, 30_000])
                    try:
                        await keeper.remember(content, None)
                    except PiRankError:
                        refused.append(content)
                    else:
                        acknowledged.append(content)
            finally:
                keeper.close()

        with open_noted(self._root, self._disk / "store.sqlite3", None) as engine:
            asyncio.run(remember())

    def _fill(self, left):
        """Uses up the disk but for so many KiB."""
        with (self._disk / "fill").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 12)) == 1 << 12:
                    continue
            except OSError:
                file.truncate(max(0, file.tell() - (left << 10)))

    def _check(self, records, notes, trial):
        with trial.expecting("with room again"):
            self._sync()
            with MemoryEngine.open(self._root, store=self._disk / "store.sqlite3", model=EMBEDDER) as engine:
                engine.sync()
                trial.check(
                    engine.status()["records"] == len(records), "records are missing", engine.status()
                )
                for each in records[::100]:
                    found = {hit.record.statement for hit in engine.search(each["statement"], k=20)}
                    trial.check(each["statement"] in found, "a record is not found", each["id"])
        path = self._disk / "notes.jsonl"
        stored = path.read_text(encoding="utf-8") if path.exists() else ""
        for content in notes[0]:
            trial.check(f'"{content}"' in stored, "an acknowledged note is lost", content[:40])
        for content in notes[1]:
            trial.check(f'"{content}"' not in stored, "a refused note is kept", content[:40])


def _records(chance):
    for number in range(RECORDS):
        yield {"id": f"mem_{number}", "statement": f"{' '.join(chance.choices(WORDS, k=8))} number {number}"}
