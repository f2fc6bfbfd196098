"""Vectors of notes: kept beside the notes, made behind, gone with their note, and never more than a cache."""

from __future__ import annotations

import json
import os
import stat
import time

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.errors import ModelError
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.vectors import SAVE_VECTORS, NoteVectors
from tests.recall.notes.test_engine import note

NAMES = [bytes([number]) * 32 for number in range(4)]
MATRIX = np.eye(4, 8, dtype=np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.jsonl.vectors"


@pytest.fixture
def kept(path):
    """Four vectors in a file."""
    vectors = NoteVectors(path)
    vectors.use("a model")
    vectors.add(NAMES, MATRIX)
    vectors.save(last=True)
    return vectors


def opened(path, model_id="a model"):
    vectors = NoteVectors(path)
    vectors.use(model_id)
    return vectors


def test_the_file_is_read_again_and_is_its_owners_alone(kept, path):
    again = opened(path)
    found = again.rows(NAMES)
    assert found.text_hashes == NAMES
    assert np.array_equal(found.matrix, MATRIX)
    assert not any(map(again.lacks, NAMES))
    assert again.lacks(b"x" * 32)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_models_are_not_read(kept, path):
    other = opened(path, "another model")
    assert all(map(other.lacks, NAMES))
    none = opened(path, None)
    assert not any(map(none.lacks, NAMES))  # nothing is to be embedded where no model is
    assert len(none.rows(NAMES).text_hashes) == 0


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "text", "folder", "link"])
def test_a_damaged_file_costs_an_embedding(kept, path, damage):
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "link":
        elsewhere = path.with_name("elsewhere")
        elsewhere.write_bytes(data)
        path.symlink_to(elsewhere)
    else:
        data[-3] ^= 4
        path.write_bytes({"flip": data, "cut": data[:-9], "empty": b"", "text": b"notes\n"}[damage])
    again = opened(path)
    assert all(map(again.lacks, NAMES))
    again.add(NAMES, MATRIX)
    again.save(last=True)
    assert damage == "folder" or not any(map(opened(path).lacks, NAMES))


def test_a_vector_that_is_none_costs_itself(path):
    vectors = opened(path)
    vectors.add(NAMES, MATRIX * np.array([[1], [0], [1], [np.nan]], np.float32))
    vectors.save(last=True)
    assert [name for name in NAMES if opened(path).lacks(name)] == [NAMES[1], NAMES[3]]


@pytest.mark.parametrize("model_id", ["a model", "another model", None])
def test_what_was_taken_back_leaves_the_file(kept, path, model_id):
    """Also where the file is of a model that does not answer now, so that nobody knows what is in it."""
    assert NAMES[2] in path.read_bytes()
    vectors = opened(path, model_id)
    vectors.forget([NAMES[2]])
    assert not path.exists() or NAMES[2] not in path.read_bytes()
    assert path.exists() == (model_id == "a model")
    if model_id == "a model":
        assert [name for name in NAMES if opened(path).lacks(name)] == [NAMES[2]]


def test_where_the_file_cannot_be_written_anew_it_is_removed(kept, path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("pi_rank.recall.notes.vectors.write_arrays", full)
    kept.forget([NAMES[0]])
    assert not path.exists()


def test_the_file_is_written_when_enough_is_new(path):
    vectors = opened(path)
    names = [number.to_bytes(32, "big") for number in range(SAVE_VECTORS + 1)]
    matrix = np.ones((len(names), 1), np.float32)
    vectors.add(names[:-1], matrix[:-1])
    vectors.save()
    assert not path.exists()
    vectors.add(names[-1:], matrix[-1:])
    vectors.save()
    assert path.exists()
    before = path.stat().st_mtime_ns
    vectors.save(last=True)  # nothing is new
    assert path.stat().st_mtime_ns == before


class Counting(HashingEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self, dimension=64):
        super().__init__(dimension)
        self.texts = []
        self.error = None
        self.before = lambda: None

    def embed_documents(self, texts, progress=None):
        if self.error is not None:
            raise self.error
        self.before()
        self.texts += texts
        return super().embed_documents(texts, progress)


@pytest.fixture
def open_engine(memory):
    engines = []

    def open_one(model):
        engine = open_noted(memory / "root", memory / "store.sqlite3", model)
        engines.append(engine)
        engine.sync()
        engine.keep_vectors(memory / "notes.jsonl.vectors")
        model.texts.clear()
        return engine

    yield open_one
    for engine in engines:
        engine.close()


NOTES = [note(number, f"lamp{number} means colour{number}") for number in range(200)]


def sources(engine, number):
    hits = engine.recall(f"lamp{number} means colour{number}", 200, None)
    (hit,) = [hit for hit in hits if hit.id == f"note_{number}"]
    return {each.source for each in hit.sources if each.rank is not None and each.source != "name"}


def test_notes_are_found_by_words_first_and_by_meaning_then_and_after_a_restart_at_once(open_engine):
    model = Counting()
    engine = open_engine(model)
    engine.replace_notes(NOTES)
    assert model.texts == []
    assert engine.notes_to_embed == 200
    assert sources(engine, 7) == {"lexical"}
    assert engine.embed_notes() == 0
    assert len(model.texts) == 200
    assert sources(engine, 7) == {"lexical", "semantic"}
    engine.close()
    model = Counting()
    engine = open_engine(model)
    engine.replace_notes([*NOTES, note(200, "lamp200 means colour200")])
    assert sources(engine, 7) == {"lexical", "semantic"}
    assert engine.embed_notes() == 0
    assert model.texts == ["lamp200 means colour200"]


def test_a_new_note_does_not_wait_for_those_of_before(open_engine):
    model = Counting()
    engine = open_engine(model)
    engine.replace_notes(NOTES)
    engine.add_notes([note(777, "lamp777 means colour777")])
    assert sources(engine, 777) == {"lexical", "semantic"}
    assert model.texts == ["lamp777 means colour777"]
    assert engine.notes_to_embed == 200


def test_a_model_that_fails_costs_the_meaning_of_notes_for_a_while(open_engine):
    model = Counting()
    engine = open_engine(model)
    model.error = ModelError("out of order")
    engine.add_notes(NOTES[:3])
    assert sources(engine, 1) == {"lexical"}
    with pytest.raises(ModelError):
        engine.embed_notes()
    model.error = None
    assert engine.embed_notes() == 0
    assert sources(engine, 1) == {"lexical", "semantic"}


def test_a_note_that_is_taken_back_while_it_is_embedded_stays_away(open_engine, memory):
    model = Counting()
    engine = open_engine(model)
    engine.replace_notes(NOTES[:3])
    model.before = lambda: engine.replace_notes(NOTES[1:3])
    assert engine.embed_notes() == 0
    assert engine.recall("lamp0 means colour0", 1, None)[0].id != "note_0"
    engine.close()
    held = np.array(model.embed_query("lamp0 means colour0")).tobytes()
    other = np.array(model.embed_query("lamp1 means colour1")).tobytes()
    data = (memory / "notes.jsonl.vectors").read_bytes()
    assert other in data
    assert held not in data


def test_memory_that_changes_meanwhile_costs_no_vector(open_engine, memory):
    model = Counting()
    engine = open_engine(model)
    engine.replace_notes(NOTES[:3])
    file = memory / "root" / "memory" / "L2.playbooks.jsonl"
    line = file.read_bytes().splitlines()[0].replace(b"mem_", b"mem_new_")

    def change():
        file.write_bytes(file.read_bytes() + line + b"\n")
        engine.sync_records()
        engine.refresh()

    model.before = change
    assert engine.embed_notes() == 0
    model.before = lambda: None
    assert sources(engine, 2) == {"lexical", "semantic"}
    assert engine.search("mem_new_deploy", k=3)
    assert len(model.texts) == 3


def test_served_notes_keep_their_vectors(memory):
    from tests.recall.served import running

    asked = "when is the coffee maker cleaned"

    def by_meaning(server):
        rows = [row for row in server.recall(asked, 20) if "espresso" in row["snippet"]]
        return {source["source"] for row in rows for source in row["sources"] if source["rank"] is not None}

    said = ({"op": "note", "id": f"note_{n}", "at": "", "content": f"box {n} is empty"} for n in range(500))
    (memory / "notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said), encoding="utf-8")
    with running(memory, "--rate", "0", "--model", "default") as server:
        note_id = server.post("/remember", {"content": "The espresso machine is descaled on Mondays"})[1][
            "id"
        ]
        assert "semantic" in by_meaning(server)
        deadline = time.monotonic() + 60
        while server.ask("GET", "/status")[2]["notes_to_embed"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    file = memory / "notes.jsonl.vectors"
    before = file.read_bytes()
    with running(memory, "--rate", "0", "--model", "default") as server:
        assert server.ask("GET", "/status")[2]["notes_to_embed"] == 0
        assert "semantic" in by_meaning(server)
        assert file.read_bytes() == before
        assert server.ask("DELETE", f"/remember/{note_id}")[0] == 200
        assert len(file.read_bytes()) < len(before)
        assert "semantic" not in by_meaning(server)
