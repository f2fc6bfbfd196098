"""The façade: opening, syncing, turns, searches, deadlines, and what happens without a model."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import warnings
from datetime import date

import msgspec
import numpy as np
import pytest

import pi_rank
from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import ContextError, MemoryEngine, MemoryRootError, SessionContext, VectorError
from pi_rank.block.guidance import build_policy
from tests.support.memory import engine_on, write_root

TODAY = date(2026, 6, 30)


def ask(prompt, **fields):
    return SessionContext(latest_user_message=prompt, **fields)


def ids(hits):
    return [hit.id for hit in hits]


class SlowEmbedder(HashingEmbedder):
    """Answers queries only when it is let go."""

    def __init__(self):
        super().__init__(32)
        self.go = threading.Event()

    def embed_query(self, text):
        self.go.wait(30)
        return super().embed_query(text)

    def embed_documents(self, texts, progress=None):
        return np.array([super(SlowEmbedder, self).embed_query(text) for text in texts], np.float32)


class BrokenEmbedder(HashingEmbedder):
    def embed_query(self, text):
        raise RuntimeError("the endpoint is down")

    def embed_documents(self, texts, progress=None):
        return np.array([super(BrokenEmbedder, self).embed_query(text) for text in texts], np.float32)


RECORDS = [
    {"id": "mem_bun", "statement": "Run bun tests before each commit", "tags": ["testing"]},
    {"id": "mem_deploy", "statement": "Deploy only on Tuesday mornings"},
    {"id": "mem_shader", "statement": "OpenGL shaders live in the render folder"},
]


def test_every_public_name_is_there():
    for name in pi_rank.__all__:
        assert getattr(pi_rank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pi_rank.nonsense  # noqa: B018


def test_a_turn_says_what_was_chosen_and_how_long_it_took(tmp_path):
    with engine_on(tmp_path, RECORDS, model=HashingEmbedder(64)) as engine:
        result = engine.build_retrieval_context(ask("when do we deploy?"), today=TODAY)
    assert result.mode == "hybrid"
    assert ids(result.selected)[0] == "mem_deploy"
    assert {source.source for source in result.selected[0].sources} == {"lexical", "semantic"}
    assert result.selected[0].score == sum(source.score for source in result.selected[0].sources)
    assert "- mem_deploy [L2, conf 0.90] Deploy only on Tuesday mornings" in result.markdown
    assert list(result.timings)[-1] == "total"
    assert result.stats["records"] == result.stats["eligible"] == 3
    assert result.to_dict()["bytes"] == len(result.markdown.encode())


def test_modes_without_vectors(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        assert engine.build_retrieval_context(ask("run the bun tests")).mode == "lexical"
        found = engine.build_retrieval_context(ask("shad files are where?"))
        assert (found.mode, ids(found.selected)) == ("terms", ["mem_shader"])
        assert engine.build_retrieval_context(ask("completely unrelated")).mode == "none"


def test_a_given_vector_is_used(tmp_path):
    embedder = HashingEmbedder(64)
    with engine_on(tmp_path, RECORDS, model=embedder) as engine:
        vector = embedder.embed_query("OpenGL shaders live in the render folder")
        result = engine.build_retrieval_context(ask("xyzzy plugh"), query_vector=vector)
        assert (result.mode, result.selected[0].id) == ("semantic", "mem_shader")
        assert result.stats["query_vector"] == "given"
        for wrong in (vector.astype(np.float64), vector[:10], np.full(64, np.nan, np.float32)):
            with pytest.raises(VectorError):
                engine.build_retrieval_context(ask("run the tests"), query_vector=wrong)


def test_a_late_embedder_is_left_out(tmp_path):
    embedder = SlowEmbedder()
    with engine_on(tmp_path, RECORDS, model=embedder) as engine:
        began = time.perf_counter()
        result = engine.build_retrieval_context(ask("run the bun tests"), deadline_ms=30)
        assert time.perf_counter() - began < 20
        assert (result.mode, result.stats["query_vector"]) == ("lexical", "late")
        assert ids(result.selected) == ["mem_bun"]
        embedder.go.set()
        result = engine.build_retrieval_context(ask("run the bun tests"), deadline_ms=20_000)
        assert (result.mode, result.stats["query_vector"]) == ("hybrid", "ok")


def test_a_failing_embedder_does_not_fail_the_turn(tmp_path):
    with engine_on(tmp_path, RECORDS, model=BrokenEmbedder(32)) as engine:
        result = engine.build_retrieval_context(ask("run the bun tests"))
    assert result.mode == "lexical"
    assert result.stats["query_vector"] == "failed: the endpoint is down"


def test_a_model_that_cannot_be_loaded_is_warned_of_once(tmp_path):
    card = tmp_path / "broken.toml"
    card.write_text("not a card", encoding="utf-8")
    path = write_root(tmp_path / "root", RECORDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with MemoryEngine.open(path, store=tmp_path / "store.sqlite3", model=str(card)) as engine:
            assert engine.sync().added == 3
            results = [engine.build_retrieval_context(ask("run the bun tests")) for _ in range(3)]
    assert [result.mode for result in results] == ["lexical"] * 3
    assert len(caught) == 1
    assert "ranking is lexical only" in str(caught[0].message)


def test_search_ranks_everything_active_or_what_is_eligible(tmp_path):
    elsewhere = {"id": "mem_elsewhere", "statement": "Deploy by hand", "profile_id": "project:other"}
    gone = {"id": "mem_gone", "statement": "Deploy on Fridays", "status": "deprecated"}
    with engine_on(tmp_path, [*RECORDS, elsewhere, gone]) as engine:
        assert set(ids(engine.search("deploy"))) == {"mem_deploy", "mem_elsewhere"}
        assert ids(engine.search("deploy", context=ask("deploy"))) == ["mem_deploy"]
        assert engine.search("deploy", k=0) == []
        assert len(engine.search("deploy bun shaders", k=2)) == 2
        with pytest.raises(ContextError, match="unknown mode 'fuzzy'"):
            engine.search("deploy", mode="fuzzy")
        with pytest.raises(ContextError, match="k must be 0 or more"):
            engine.search("deploy", k=-1)


@pytest.mark.parametrize("mode", ["lexical", "semantic"])
def test_search_by_one_half(tmp_path, mode):
    with engine_on(tmp_path, RECORDS, model=HashingEmbedder(64)) as engine:
        hits = engine.search("Deploy only on Tuesday mornings", mode=mode)
    assert hits[0].id == "mem_deploy"
    assert {source.source for hit in hits for source in hit.sources} == {mode}


def test_injection_modes(tmp_path):
    rule = {
        "id": "mem_rule",
        "statement": "Never push to main",
        "ruleType": "avoid_pattern",
        "confidence": 0.95,
    }
    root = write_root(
        tmp_path / "root", [*RECORDS, rule], config={"retrieval": {"injectionMode": "policy_only"}}
    )
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        engine.sync()
        policy = engine.build_retrieval_context(ask("run the bun tests"))
        assert policy.markdown == build_policy().markdown
        assert policy.selected == policy.hard_rules == ()
        write_root(root, [*RECORDS, rule], config={"retrieval": {"injectionMode": "wakeup"}})
        wakeup = engine.build_retrieval_context(ask("run the bun tests"))
        assert "- Active memory records: 4\n" in wakeup.markdown
        assert wakeup.selected == wakeup.hard_rules == ()


def test_a_hard_rule_is_shown_once(tmp_path):
    rule = {
        "id": "mem_rule",
        "statement": "Never deploy on Friday",
        "ruleType": "avoid_pattern",
        "confidence": 0.95,
    }
    with engine_on(tmp_path, [*RECORDS, rule]) as engine:
        result = engine.build_retrieval_context(ask("when do we deploy?"))
    assert [record.id for record in result.hard_rules] == ["mem_rule"]
    assert ids(result.selected) == ["mem_deploy"]
    assert result.markdown.count("Never deploy on Friday") == 1


def test_trivial_prompts_get_nothing(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        assert engine.build_retrieval_context(ask("thanks! 👍")).markdown == ""


@pytest.mark.parametrize(
    "prompt", ["NEAR(bun", '"', "statement:bun", "-bun AND", "🚀🚀🚀🚀🚀", "a" * 200_000, "\ud83d bun\0"]
)
def test_odd_prompts_are_answered(tmp_path, prompt):
    with engine_on(tmp_path, RECORDS, model=HashingEmbedder(16)) as engine:
        assert len(engine.build_retrieval_context(ask(prompt)).markdown.encode()) <= 14_000


def test_arguments_out_of_range(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        for wrong in ({"deadline_ms": -1}, {"deadline_ms": float("nan")}):
            with pytest.raises(ContextError, match="deadline_ms"):
                engine.build_retrieval_context(ask("run the tests"), **wrong)
        with pytest.raises(pi_rank.ConfigError, match="max_bytes"):
            engine.build_retrieval_context(ask("run the tests"), max_bytes=-1)
    with pytest.raises(MemoryRootError, match="does not exist"):
        MemoryEngine.open(tmp_path / "nowhere", store=tmp_path / "other.sqlite3")


def test_an_empty_root_gives_an_empty_block(tmp_path):
    (tmp_path / "root").mkdir()
    with MemoryEngine.open(tmp_path / "root", store=tmp_path / "store.sqlite3", model=None) as engine:
        engine.sync()
        assert engine.build_retrieval_context(ask("run the tests")).markdown == ""


def test_changes_are_seen_at_the_next_turn_also_those_of_another_process(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        assert ids(engine.build_retrieval_context(ask("who reviews migrations?")).selected) == []
        write_root(
            tmp_path / "root", [*RECORDS[1:], {"id": "mem_new", "statement": "Ada reviews migrations"}]
        )
        code = (
            "import sys; from pi_rank import MemoryEngine\n"
            "with MemoryEngine.open(sys.argv[1], store=sys.argv[2], model=None) as engine: engine.sync()"
        )
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "root", tmp_path / "store.sqlite3"], check=True
        )
        assert ids(engine.build_retrieval_context(ask("who reviews migrations?")).selected) == ["mem_new"]
        assert ids(engine.build_retrieval_context(ask("run bun tests")).selected) == []


def test_a_refreshed_snapshot_answers_as_one_built_from_nothing(tmp_path):
    rng = np.random.default_rng(3)
    corpus = Corpus(seed=5, size=600, vocabulary=400, mixed=True, profiles=2)
    records = {record["id"]: record for record in corpus.records()}
    embedder = HashingEmbedder(32)
    prompts = [ask(prompt, profile_id="project:1") for prompt in corpus.prompts(20, 8)]
    root = write_root(tmp_path / "root", records.values())
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=embedder) as engine:
        engine.sync()
        engine.retrieve_batch(prompts)
        for _ in range(5):
            for key in rng.choice(sorted(records), 40, replace=False):
                if rng.random() < 0.3:
                    del records[key]
                else:
                    changed = {
                        "statement": corpus.text(rng, 12),
                        "status": rng.choice(["active", "contested"]),
                    }
                    records[key] = records[key] | changed
            records |= {
                f"mem_x{rng.integers(10**6)}": {**next(iter(records.values())), "id": ""} for _ in range(5)
            }
            records = {key: record | {"id": key} for key, record in records.items()}
            write_root(root, records.values(), tombstones=sorted(records)[:: rng.integers(40, 90)])
            engine.sync()
            refreshed = engine.retrieve_batch(prompts, today=TODAY)
            with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=embedder) as other:
                built = other.retrieve_batch(prompts, today=TODAY)
            for one, two in zip(refreshed, built, strict=True):
                assert one.markdown == two.markdown
                assert ids(one.selected) == ids(two.selected)
                assert [trace.to_dict() for trace in one.traces] == [trace.to_dict() for trace in two.traces]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["scoped", "policy_only", "wakeup"])
def test_a_batch_answers_as_one_by_one(tmp_path, threads, mode):
    corpus = Corpus(seed=5, size=300, vocabulary=400, mixed=True, profiles=2)
    prompts = ["thanks!", *corpus.prompts(40, 8), "unheard-of words"]
    turns = [ask(prompt, profile_id="project:1") for prompt in prompts]
    config = {"retrieval": {"injectionMode": mode}}
    with engine_on(tmp_path, corpus.records(), model=HashingEmbedder(32), config=config) as engine:
        together = engine.retrieve_batch(turns, threads=threads, today=TODAY, max_records=6)
        for turn, batched in zip(turns, together, strict=True):
            alone = engine.build_retrieval_context(turn, today=TODAY, max_records=6)
            differing = {"timings": {}}
            assert msgspec.structs.replace(batched, traces=(), **differing) == msgspec.structs.replace(
                alone, traces=(), **differing
            )
            assert [trace.to_dict() for trace in batched.traces] == [
                trace.to_dict() for trace in alone.traces
            ]
            assert list(batched.timings)[-1] == "total"


def test_one_off_use(tmp_path):
    root = write_root(tmp_path / "root", RECORDS)
    result = pi_rank.build_retrieval_context(
        root, "run the bun tests", working_directory=tmp_path, store=tmp_path / "store.sqlite3", model=None
    )
    assert ids(result.selected) == ["mem_bun"]


def test_fifty_thousand_records(tmp_path):
    root = Corpus(seed=9, size=50_000).write(tmp_path / "root")
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        assert engine.sync().added == 50_000
        asked = ask(Corpus(seed=9, size=1).prompts(1, 12)[0])
        assert len(engine.build_retrieval_context(asked).selected) == 12
