"""Keeps a served memory fresh: looks at the memory files a few times a second, and reads them when they
changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from pathlib import Path

from pi_rank.characters import one_line
from pi_rank.errors import PiRankError
from pi_rank.recall.notes.engine import NotedEngine
from pi_rank.serving.failures import log_failure

log = logging.getLogger("pi_rank.recall")
POLL_SECONDS = 0.2
RETRY_SECONDS = 2.0
# A file changed twice within its clock's step looks the same both times; after this long it is looked into
# again.
SETTLE_SECONDS = 2.2
MOST_SKIPPED = 20  # lines named one by one: whoever starts a server may not read what it says
_FOLDERS = ("memory", "memory/projects")
Signature = tuple[tuple[str, int, int, int], ...]


class Refresher:
    """Syncs the engine whenever a memory file, or the store, has changed. No request waits for it."""

    def __init__(self, engine: NotedEngine) -> None:
        self._engine = engine
        self._seen: Signature | None = None
        self._again_at = 0.0
        self.failing = False
        self._trouble: tuple[str, ...] = ()
        self.checked_at = time.monotonic()

    @property
    def index_age(self) -> float:
        """Seconds since what is served was last known to be what the files say."""
        return time.monotonic() - self.checked_at

    def start(self) -> None:
        """Take in the memory files before the first request. New texts are embedded afterwards, by `run`.

        :raises PiRankError: memory cannot be read.
        """
        self._seen = files_signature(self._engine.root)
        report = self._engine.sync_records()
        skipped = [f"{each.file}:{each.line}: {each.reason}" for each in report.skipped[:MOST_SKIPPED]]
        for problem in (*report.warnings, *skipped):
            log.warning("%s", one_line(problem))  # a file's name may hold line breaks
        if more := len(report.skipped) - len(skipped):
            log.warning("%s more lines are left out; `pi-rank sync --json` names all", f"{more:,}")
        self._tell(self._engine.trouble)
        self._again_at = time.monotonic()
        self._engine.refresh()

    def check(self) -> None:
        """Look, and sync where something changed. What was read last stays in use where that fails."""
        now, signature = time.monotonic(), files_signature(self._engine.root)
        try:
            if signature != self._seen or now >= self._again_at > 0 or self.failing:
                settled = signature == self._seen
                self._engine.catch_up(progress=lambda *_: self._engine.refresh())
                self._seen, self._again_at = signature, 0.0 if settled else now + SETTLE_SECONDS
                self._engine.refresh()
            elif self._engine.is_behind():
                self._engine.refresh()
            self._engine.embed_notes()
        except (PiRankError, OSError) as error:
            self._fail(error)
        except Exception as error:  # nobody foresaw it; looking must go on, or memory stays as it is for ever
            log_failure(error)
            self._fail(error)
        else:
            self._tell(self._engine.trouble)

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(RETRY_SECONDS if self.failing else POLL_SECONDS)
            await asyncio.to_thread(self.check)

    def _fail(self, error: Exception) -> None:
        self._tell((f"memory cannot be read; what was read last is still served: {error}",))
        self._seen = None

    def _tell(self, trouble: tuple[str, ...]) -> None:
        """Say what is wrong once, and not five times a second; and when it is over."""
        if trouble and trouble != self._trouble:
            log.error("%s", one_line("; ".join(trouble)))
        elif self.failing and not trouble:
            log.warning("memory and its store can be read again")
        self._trouble = trouble
        self.failing = bool(trouble)
        if not trouble:
            self.checked_at = time.monotonic()


def files_signature(root: Path) -> Signature:
    """Name, time, size and inode of each memory file: a few system calls, and no file is opened."""
    found = []
    for folder in _FOLDERS:
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        state = entry.stat()
                        found.append(
                            (f"{folder}/{entry.name}", state.st_mtime_ns, state.st_size, state.st_ino)
                        )
        except OSError:
            found.append((folder, 0, 0, 0))
    return tuple(sorted(found))
