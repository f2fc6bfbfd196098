"""Stores notes: those that arrive together share one wait for the disk, and are searchable before they are
answered.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pi_rank.errors import StoreError
from pi_rank.recall.notes.engine import NotedEngine
from pi_rank.recall.notes.log import Note, NotesLog, new_note
from pi_rank.recall.notes.notebook import Notebook, utc_now
from pi_rank.serving.failures import log_failure

log = logging.getLogger("pi_rank.recall")
VECTORS_ENDING = ".vectors"


class NoteKeeper:
    """The notes file, what it says, and the engine that finds it. Its methods are for one event loop.

    :raises StoreError: the notes file cannot be used.
    """

    def __init__(self, path: Path, engine: NotedEngine) -> None:
        self._log = NotesLog(path)
        engine.keep_vectors(path.with_name(path.name + VECTORS_ENDING))
        self._engine = engine
        self._book = Notebook()
        for line in self._log.lines:
            self._book.add(line)
        self._pending: list[tuple[Note, asyncio.Future[None]]] = []
        self._draining: asyncio.Task[None] | None = None
        # One thread: lines are written, and rows added, in one order.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="pi-rank-notes")
        self._unseen = False
        for number in self._log.damaged:
            log.warning("%s:%d: not a note that can be read; it is kept, and left out", path, number)

    def publish(self) -> None:
        """Make the notes of the file searchable."""
        self._engine.replace_notes(self._book.records())
        self._unseen = False

    async def remember(self, content: str, trigger: str | None) -> str:
        """Store a note; when this returns it is on the disk, and the next recall finds it.

        :returns: the note's id.
        :raises StoreError: it could not be stored.
        """
        if not _is_unicode(content) or not _is_unicode(trigger or ""):
            raise StoreError("the note could not be stored: it holds half a surrogate pair")
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        note = new_note(content, trigger, utc_now())
        self._pending.append((note, stored))
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain())
        await stored
        return note.id

    async def forget(self, note_id: str) -> int:
        """Take a note back, with those that say the same: no recall finds it, and no file of ours holds it.

        :returns: how many notes that were; 0 where there is no such note.
        :raises StoreError: it could not be taken back, and counts as before.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._forget, note_id)

    async def consolidate(self) -> int:
        """Merge notes that say the same, and give the number of notes that went into another."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._consolidate)

    def status(self) -> dict[str, Any]:
        """Counts for /status."""
        return {
            "notes": self._book.note_count,
            "distinct_notes": self._book.topic_count,
            "damaged_note_lines": len(self._log.damaged),
            "notes_to_embed": self._engine.notes_to_embed,
        }

    def close(self) -> None:
        """Finish what has begun, and let go of the file."""
        self._writer.shutdown()
        self._log.close()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._pending:
            batch, self._pending = self._pending, []
            failure: StoreError | None = None
            try:
                await loop.run_in_executor(self._writer, self._store, [note for note, _ in batch])
            except OSError as error:
                log.error("notes cannot be stored: %s", error.strerror or type(error).__name__)
                failure = StoreError("the note could not be stored")
            except Exception as error:  # nobody may wait for this batch, or the next, for ever
                log_failure(error)
                failure = StoreError("the note could not be stored")
            for _, stored in batch:
                if stored.done():  # its asker has gone
                    continue
                if failure is None:
                    stored.set_result(None)
                else:
                    stored.set_exception(failure)
        self._draining = None

    def _store(self, notes: list[Note]) -> None:
        self._log.append(notes)
        records = [record for note in notes if (record := self._book.add(note)) is not None]
        try:
            if self._unseen:
                self.publish()
            elif records:
                self._engine.add_notes(records)
        except Exception as error:  # the notes are safe; they are looked for again with the next one
            log_failure(error)
            self._unseen = True

    def _forget(self, note_id: str) -> int:
        ids = self._book.saying(note_id)
        if ids:
            try:
                self._log.remove(ids)
            except OSError as error:
                log.error("a note cannot be taken back: %s", error.strerror or type(error).__name__)
                raise StoreError("the note could not be taken back") from None
            self._book.forget(ids)
            self.publish()
        return len(ids)

    def _consolidate(self) -> int:
        merges = self._book.duplicates()
        if merges:
            self._log.append(merges)
            for merge in merges:
                self._book.add(merge)
            self.publish()
        return sum(len(merge.ids) for merge in merges)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
