"""A note that cannot be stored costs itself: its asker is told, and those after it are not kept waiting."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from pi_rank.errors import StoreError
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.keeper import NoteKeeper
from pi_rank.recall.notes.log import NotesLog
from tests.support.memory import write_root

SECONDS = 20


@asynccontextmanager
async def keeping(tmp_path):
    root = write_root(tmp_path / "root", [{"id": "mem_1", "statement": "deploy the orchard"}])
    with open_noted(root, tmp_path / "store.sqlite3", None) as engine:
        engine.sync_records()
        keeper = NoteKeeper(tmp_path / "notes.jsonl", engine)
        keeper.publish()
        yield keeper, engine
        keeper.close()


@pytest.mark.parametrize("note", [("half an emoji \ud83d", None), ("whole", "trigger \udfff")])
def test_a_note_that_is_no_text_is_refused_and_the_next_one_is_stored(tmp_path, note):
    async def run():
        async with keeping(tmp_path) as (keeper, engine):
            with pytest.raises(StoreError, match="surrogate"):
                await asyncio.wait_for(keeper.remember(*note), SECONDS)
            await asyncio.wait_for(keeper.remember("the zebra is striped", None), SECONDS)
            return [hit.record.statement for hit in engine.recall("zebra", 5, None)]

    assert asyncio.run(run()) == ["the zebra is striped"]


def test_an_error_that_nobody_foresaw_is_told_and_the_next_note_is_stored(tmp_path, monkeypatch):
    append = NotesLog.append

    def failing(log, lines):
        monkeypatch.setattr(NotesLog, "append", append)
        raise MemoryError

    async def run():
        async with keeping(tmp_path) as (keeper, engine):
            monkeypatch.setattr(NotesLog, "append", failing)
            with pytest.raises(StoreError, match="could not be stored"):
                await asyncio.wait_for(keeper.remember("never written", None), SECONDS)
            await asyncio.wait_for(keeper.remember("the zebra is striped", None), SECONDS)
            return [hit.record.statement for hit in engine.recall("zebra", 5, None)]

    assert asyncio.run(run()) == ["the zebra is striped"]
    assert "never written" not in (tmp_path / "notes.jsonl").read_text(encoding="utf-8")
