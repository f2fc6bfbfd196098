"""Changing a store's model: who answers meanwhile, kills, other processes, endpoints that fail."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, ModelError, SessionContext
from pi_rank.embedding.registry import find_card
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store import model_change
from pi_rank.store.missing_vectors import EMBED_CHUNK
from pi_rank.store.rebuild import rebuild
from pi_rank.store.store import MemoryStore
from tests.embedding.endpoint import DIMENSION, send, serving, write_card
from tests.support.memory import write_root

WORDS = ["tabs", "deploy", "shader", "billing", "lint", "cache", "invoice", "garden"]
PROMPT = SessionContext(latest_user_message="deploy the garden")


@pytest.fixture
def endpoint():
    with serving() as server:
        yield server


@pytest.fixture
def old(endpoint, tmp_path):
    return str(write_card(tmp_path / "old.toml", endpoint, id="old", model="old"))


@pytest.fixture
def new(endpoint, tmp_path):
    return str(write_card(tmp_path / "new.toml", endpoint, id="new", model="new", texts_per_request=8))


@pytest.fixture
def memory(tmp_path):
    """Opens an engine on a root of `count` records."""

    def opened(count=20, **options):
        records = [
            {"id": f"mem_{i:04}", "statement": f"{WORDS[i % 8]} {WORDS[i // 8 % 8]} number {i}"}
            for i in range(count)
        ]
        root = write_root(tmp_path / "root", records)
        return MemoryEngine.open(root, store=tmp_path / "store.sqlite3", **options)

    return opened


def model_id(card):
    return find_card(card).model_id


def counts(engine):
    return MemoryStore.open(engine.store_path, read_only=True).vector_counts()


def test_a_chosen_model_answers_and_the_old_vectors_are_gone(memory, old, new):
    with memory() as engine:
        assert engine.use_model(old) == 20
        assert engine.use_model(new) == 20
        assert counts(engine) == {model_id(new): 20}
        assert engine.status()["model"] == model_id(new)
        assert engine.build_retrieval_context(PROMPT).mode == "hybrid"
    with memory() as engine:
        assert (engine.sync().embedded, engine.status()["model"]) == (0, model_id(new))


def test_a_path_means_the_same_model_from_anywhere(memory, old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with memory() as engine:
        engine.use_model("old.toml")
        monkeypatch.chdir("/")
        assert MemoryStore.open(engine.store_path).model_choice().answering == str(tmp_path / "old.toml")


def test_a_model_that_cannot_be_loaded_changes_nothing(memory, old, tmp_path):
    with memory() as engine:
        engine.use_model(old)
        with pytest.raises(ModelError, match=r"none\.toml cannot be read"):
            engine.use_model(str(tmp_path / "none.toml"))
        assert engine.status()["changing_to"] is None
        assert engine.search("deploy", mode="semantic")


def test_while_new_vectors_are_incomplete_the_old_model_answers(memory, old, new, endpoint):
    with memory(count=600) as engine:
        engine.use_model(old)
        expected = [hit.id for hit in engine.search("deploy the garden", mode="semantic")]

        def interrupt(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            engine.use_model(new, progress=interrupt)
        for reader in (engine, memory(count=600)):
            asked = len(endpoint.requests)
            found = reader.search("the garden deploy", mode="semantic")
            assert {request["model"] for request in endpoint.requests[asked:]} <= {"old"}
            assert [hit.id for hit in found] == expected
            assert reader.status()["changing_to"] == new
        reader.close()
        assert counts(engine) == {model_id(old): 600, model_id(new): EMBED_CHUNK}


def test_texts_that_come_meanwhile_are_embedded_by_the_old_model(memory, old, new):
    with memory(count=300) as engine:
        engine.use_model(old)
        with pytest.raises(ZeroDivisionError):
            engine.use_model(new, progress=lambda done, total: 1 / 0)
    with memory(count=310) as engine:
        assert engine.sync().embedded == 10
        assert counts(engine) == {model_id(old): 310, model_id(new): 256}
        assert engine.use_model(new) == 54
        assert counts(engine) == {model_id(new): 310}


def test_a_long_lived_engine_goes_on_in_the_background(memory, old, new, endpoint, monkeypatch):
    monkeypatch.setattr(model_change, "PATIENCE_SECONDS", 0.01)
    with memory(count=100) as engine:
        engine.use_model(old)
        MemoryStore.open(engine.store_path).choose_model(new)  # as another process does
        engine.sync()
        modes = set()
        deadline = time.monotonic() + 60
        while engine.status()["model"] != model_id(new) and time.monotonic() < deadline:
            modes.add(engine.build_retrieval_context(PROMPT).mode)
        assert engine.status()["model"] == model_id(new)
        assert engine.build_retrieval_context(PROMPT).mode == "hybrid"
        assert modes <= {"hybrid", "lexical"}
        assert counts(engine) == {model_id(new): 100}


def test_an_engine_that_is_soon_closed_loads_no_second_model(memory, old, new, endpoint):
    with memory() as engine:
        engine.use_model(old)
        MemoryStore.open(engine.store_path).choose_model(new)
        engine.sync()
    assert {request["model"] for request in endpoint.requests} == {"old"}


def test_another_process_completed_the_change(memory, old, new):
    with memory() as engine, memory() as other:
        engine.use_model(old)
        other.sync()
        engine.use_model(new)
        other.sync()
        assert other.status()["model"] == model_id(new)
        assert other.build_retrieval_context(PROMPT).mode == "hybrid"


def test_a_failing_background_change_is_warned_of_and_tried_again(memory, old, new, endpoint, monkeypatch):
    monkeypatch.setattr(model_change, "PATIENCE_SECONDS", 0.01)
    with memory() as engine:
        engine.use_model(old)
        MemoryStore.open(engine.store_path).choose_model(new)
        endpoint.answers = [lambda handler, request: send(handler, 401, {"error": "expired"})]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            engine.sync()
            engine._models._thread.join(30)
        assert "not changed to" in str(heard[0].message)
        assert engine.build_retrieval_context(PROMPT).mode == "hybrid"
        engine.sync()
        engine._models._thread.join(30)
        assert engine.status()["model"] == model_id(new)


def test_two_changes_at_once_end_with_the_last_one_chosen(memory, old, new):
    with memory() as engine:
        engine.use_model(old)

        def choose_another(done, total):
            MemoryStore.open(engine.store_path).choose_model("default")

        engine.use_model(new, progress=choose_another)
        assert engine.status()["model"] == model_id(old)
        assert engine.status()["changing_to"] == "default"


def test_a_named_model_is_left_to_its_caller(memory, old, new):
    with memory() as engine:
        engine.use_model(old)
        MemoryStore.open(engine.store_path).choose_model(new)
    own = HashingEmbedder(16)
    with memory(model=own) as engine:
        assert engine.sync().embedded == 20
        assert engine._models._thread is None
        assert counts(engine) == {model_id(old): 20, own.model_id: 20}


def test_a_damaged_store_that_is_rebuilt_keeps_its_model(memory, old, new, tmp_path):
    with memory() as engine:
        engine.use_model(old)
        MemoryStore.open(engine.store_path).choose_model(new)
    connection = sqlite3.connect(tmp_path / "store.sqlite3")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    root = MemoryRoot(tmp_path / "root")
    rebuild(tmp_path / "store.sqlite3", root.read(), FtsAnalyzer())
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        assert store.model_choice() == (new, old)
        assert store.vector_counts() == {model_id(old): 20}


USE = """
import sys
from pi_rank.cli import main
sys.exit(main(["models", "use", sys.argv[1], "--root", sys.argv[2], "--store", sys.argv[3]]))
"""


def use_in_a_process(engine, card):
    command = [sys.executable, "-c", USE, card, str(engine.root), str(engine.store_path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_change_goes_on_where_it_stopped(memory, old, new, endpoint):
    count, kills = 1500, 5
    with memory(count=count) as engine:
        engine.use_model(old)
        before = endpoint.texts
        for kill in range(kills):
            target = before + (kill + 1) * 200
            process = use_in_a_process(engine, new)
            deadline = time.monotonic() + 60
            while endpoint.texts < target and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.communicate()
            assert engine.search("deploy", mode="semantic")
            assert counts(engine)[model_id(old)] == count
        process = use_in_a_process(engine, new)
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
        assert f"{count} vectors of {model_id(new)} answer now" in out
        # Of each kill no more than the chunk under way is done again.
        done = endpoint.texts - before
        assert count <= done <= count + kills * EMBED_CHUNK + 10
        assert counts(engine) == {model_id(new): count}


def test_two_processes_that_embed_at_once(memory, old, new, endpoint):
    with memory(count=600) as engine:
        engine.use_model(old)
        both = [use_in_a_process(engine, new) for _ in range(2)]
        for process in both:
            _, err = process.communicate(timeout=120)
            assert (process.returncode, err) == (0, "")
        assert counts(engine) == {model_id(new): 600}


def test_a_dimension_that_is_not_the_stores_is_refused(memory, old, endpoint, tmp_path):
    """A server that changes the dimension of a model that its card knows by the same name."""
    with memory() as engine:
        engine.use_model(old)
        wrong = np.eye(20, DIMENSION + 1, dtype=np.float32)
        hashes = [i.to_bytes(16, "big") for i in range(20)]
        store = MemoryStore.open(engine.store_path)
        with pytest.raises(
            ValueError, match=f"has {DIMENSION} dimensions in this store, got {DIMENSION + 1}"
        ):
            store.put_vectors(model_id(old), hashes, wrong)


def test_the_choice_is_in_status_json(memory, old, tmp_path, capsys):
    from pi_rank.cli import main

    with memory() as engine:
        engine.use_model(old)
        where = ["--root", str(engine.root), "--store", str(engine.store_path)]
    assert main(["status", *where, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["model"], status["changing_to"], status["vectors"]) == (model_id(old), None, 20)
