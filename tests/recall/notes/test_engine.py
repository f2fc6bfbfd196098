"""Notes in the engine: one ranking with memory, vectors included, and nothing of them anywhere else."""

from __future__ import annotations

import json
import threading

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.context import SessionContext
from pi_rank.embedding.queries import QueryEmbedder
from pi_rank.engine import MemoryEngine
from pi_rank.memory.records import MemoryRecord
from pi_rank.recall.notes.engine import open_noted
from tests.recall.roots import record


def note(number, statement, **fields):
    return MemoryRecord(
        id=f"note_{number}", statement=statement, layer="L3", status="active", confidence=0.5, **fields
    )


@pytest.fixture
def engine(memory):
    opened = open_noted(memory / "root", memory / "store.sqlite3", HashingEmbedder(64))
    with opened:
        opened.sync()
        opened.refresh()
        yield opened


def names(engine, query, top_k=3, context=None):
    return [hit.id for hit in engine.recall(query, top_k, context)]


def test_a_note_is_ranked_with_memory(engine):
    engine.add_notes([note(1, "blue lamp means standby")])
    hits = engine.recall("blue lamp", 3, None)
    assert hits[0].id == "note_1"
    assert {source.source for source in hits[0].sources} == {"lexical", "semantic"}
    assert names(engine, "Deploy orchard with make release")[0] == "mem_deploy"


def test_notes_survive_changed_memory_and_its_records_those_of_notes(engine, memory):
    engine.add_notes([note(1, "blue lamp means standby"), note(2, "red lamp means alarm")])
    file = memory / "root" / "memory" / "L2.playbooks.jsonl"
    lines = file.read_text(encoding="utf-8") + json.dumps(record("mem_new", "green lamp means go", [])) + "\n"
    file.write_text(lines, encoding="utf-8")
    engine.sync()
    assert engine.is_behind()
    assert "mem_new" not in names(engine, "green lamp means go", 20)
    engine.refresh()
    assert not engine.is_behind()
    engine.add_notes([note(3, "white lamp means ready")])
    assert names(engine, "green lamp means go")[0] == "mem_new"
    for number, words in enumerate(
        ["blue lamp means standby", "red lamp means alarm", "white lamp means ready"], 1
    ):
        assert names(engine, words)[0] == f"note_{number}"


def test_replaced_notes_are_gone(engine):
    engine.add_notes([note(1, "blue lamp means standby")])
    engine.replace_notes([note(2, "red lamp means alarm")])
    assert "note_1" not in names(engine, "blue lamp means standby", 20)
    assert names(engine, "red lamp means alarm")[0] == "note_2"
    engine.replace_notes([])
    assert "note_2" not in names(engine, "red lamp means alarm", 20)


def test_nothing_is_said_twice(engine):
    engine.add_notes([note(1, "Use pnpm, and never commit a package-lock.json.")])
    found = names(engine, "pnpm package-lock.json commit", 20)
    assert len([name for name in found if name in ("note_1", "mem_pnpm")]) == 1


def test_turns_and_the_store_know_nothing_of_notes(engine, memory):
    engine.add_notes([note(1, "blue lamp means standby")])
    turn = engine.build_retrieval_context(SessionContext(latest_user_message="blue lamp means standby"))
    assert "note_1" not in turn.markdown
    with MemoryEngine.open(memory / "root", store=memory / "store.sqlite3", model=None) as other:
        assert other.sync().removed == 0
        assert "note_1" not in [hit.id for hit in other.search("blue lamp means standby")]


def test_searches_go_on_while_notes_come(engine):
    failures = []

    def search():
        try:
            while not done.is_set():
                assert engine.recall("deploy orchard", 3, None)[0].id == "mem_deploy"
        except Exception as error:  # the thread's own report
            failures.append(error)

    done = threading.Event()
    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(60):
            words = f"word{number} lamp{number} colour{number}"
            engine.add_notes([note(number, words)])
            assert f"note_{number}" in names(engine, words, 5)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_another_model_answers_for_notes_too(engine):
    engine.add_notes([note(1, "blue lamp means standby")])
    engine._models.queries = QueryEmbedder(HashingEmbedder(32))
    engine.sync()
    assert engine.is_behind()
    assert names(engine, "blue lamp")[0] == "note_1"
    engine.refresh()
    assert not engine.is_behind()
    assert "note_1" in names(engine, "blue lamp means standby")  # by words, until it is embedded again
    assert engine.embed_notes() == 0
    best = engine.recall("blue lamp means standby", 1, None)[0]
    assert best.id == "note_1"
    assert {source.source for source in best.sources} == {"lexical", "semantic"}


def test_blank_queries_find_nothing(engine):
    assert names(engine, "") == []
    assert names(engine, " \n") == []
