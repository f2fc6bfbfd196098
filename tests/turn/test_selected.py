"""What a turn selects beside the ranking's order: what applies, on which day, and each statement once."""

from __future__ import annotations

from datetime import date

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import SessionContext
from pi_rank.embedding.cards import Calibration
from tests.support.memory import engine_on


class Calibrated(HashingEmbedder):
    calibration = Calibration(intercept=0, evidence=1, best=0, threshold=0.34)


MODELS = pytest.mark.parametrize("model", [None, HashingEmbedder(64)], ids=["words", "vectors"])


def ask(engine, prompt, today=None, **fields):
    turn = SessionContext(latest_user_message=prompt, **fields)
    return engine.build_retrieval_context(turn, today=today)


def ids(result):
    return [hit.id for hit in result.selected]


def test_a_phrase_of_applies_when_brings_its_record_in(tmp_path):
    records = [
        {"id": "mem_rule", "statement": "two people look at it", "applies_when": ["schema migrations"]},
        {"id": "mem_bun", "statement": "bun runs the tests"},
        {
            "id": "mem_away",
            "statement": "three people",
            "applies_when": ["migration"],
            "status": "deprecated",
        },
    ]
    with engine_on(tmp_path, records, model=Calibrated(64)) as engine:
        found = ask(engine, "how do I write a schema migration?")
        assert ids(found) == ["mem_rule"]
        (source,) = [part for part in found.selected[0].sources if part.source == "applies"]
        assert (source.rank, source.score) == (None, 0.5)
        assert found.selected[0].score == pytest.approx(sum(part.score for part in found.selected[0].sources))
        assert found.selected[0].relevance >= 0.34
        assert ids(ask(engine, "how do I write a schema?")) == []
        assert ids(ask(engine, "write the changes", task_intent="schema migration"))[0] == "mem_rule"
        # The place is for scopes: its words would bring the record into every turn there.
        place = "/work/schema migrations"
        assert "mem_rule" not in ids(ask(engine, "write the changes", working_directory=place))
        assert engine.search("schema migrations")[0].id == "mem_rule"


@MODELS
def test_what_applies_comes_first_and_once(tmp_path, model):
    records = [{"id": f"mem_{n}", "statement": f"bun test number {n} of many"} for n in range(5)]
    records[4]["applies_when"] = ["bun", "test"]
    with engine_on(tmp_path, records, model=model) as engine:
        found = ask(engine, "bun test")
    assert ids(found)[0] == "mem_4"
    assert sorted(ids(found)) == [f"mem_{n}" for n in range(5)]


def test_a_record_speaks_on_the_days_that_it_is_valid(tmp_path):
    records = [
        {"id": "mem_old", "statement": "deploy with jenkins", "valid_to": "2026-05-31"},
        {"id": "mem_new", "statement": "deploy with actions", "valid_from": "2026-06-01T00:00:00Z"},
        {"id": "mem_open", "statement": "deploy on tuesdays", "valid_from": "some day"},
    ]
    with engine_on(tmp_path, records) as engine:
        before = ask(engine, "how do we deploy", date(2026, 5, 31))
        after = ask(engine, "how do we deploy", date(2026, 6, 1))
        assert (sorted(ids(before)), sorted(ids(after))) == (["mem_old", "mem_open"], ["mem_new", "mem_open"])
        assert dict(before.traces[0].exclusion_reasons) == {"mem_new": "valid_from:2026-06-01T00:00:00Z"}
        assert dict(after.traces[0].exclusion_reasons) == {"mem_old": "valid_to:2026-05-31"}
        assert before.traces[0].output_count == after.traces[0].output_count == 2


COPIES = [
    {
        "id": f"mem_{n}",
        "statement": "Restart the proxy after a certificate change.",
        "updated_at": f"2026-0{n}-01",
    }
    for n in range(1, 9)
]
OTHER = {"id": "mem_team", "statement": "The proxy certificate is renewed by the platform team."}
PROMPT = "What happens to the proxy when the certificate changes?"


@MODELS
def test_the_newest_of_the_same_statements_stands_for_all(tmp_path, model):
    with engine_on(tmp_path, [*COPIES, OTHER], model=model) as engine:
        found = ask(engine, PROMPT)
        assert sorted(ids(found)) == ["mem_8", "mem_team"]
        assert sorted(found.stats["folded"]["mem_8"]) == [f"mem_{n}" for n in range(1, 8)]
        assert ids(ask(engine, f"{PROMPT} See mem_3."))[0] == "mem_3"  # who is named is shown


@MODELS
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (
            "The staging proxy of the shop listens on port 8080 all day",
            "The staging proxy of the shop listens on port 8081 all day",
        ),
        (
            "Always restart the big proxy after each certificate change",
            "Never restart the big proxy after each certificate change",
        ),
        (
            "Changes of the proxy certificate go to Dana for a long review",
            "Changes of the proxy certificate go to Omar for a long review",
        ),
    ],
)
def test_statements_that_differ_in_what_they_are_about_are_not_the_same(tmp_path, model, one, two):
    records = [{"id": "mem_1", "statement": one}, {"id": "mem_2", "statement": two}]
    with engine_on(tmp_path, records, model=model) as engine:
        assert sorted(ids(ask(engine, "the proxy and its certificate on staging"))) == ["mem_1", "mem_2"]


@MODELS
def test_words_in_another_order_are_the_same(tmp_path, model):
    records = [
        {
            "id": "mem_1",
            "statement": "After each certificate change restart the proxy of the shop",
            "updated_at": "2026-02-01",
        },
        {
            "id": "mem_2",
            "statement": "Restart the proxy of the shop after each certificate change",
            "updated_at": "2026-01-01",
        },
    ]
    with engine_on(tmp_path, records, model=model) as engine:
        found = ask(engine, "restart the proxy of the shop after each certificate change")
    assert (ids(found), found.stats["folded"]) == (["mem_1"], {"mem_1": ["mem_2"]})


@pytest.mark.parametrize("side", ["supersedes", "superseded_by"])
def test_what_is_superseded_stands_beside_no_successor(tmp_path, side):
    old = {
        "id": "mem_old",
        "statement": "deploy with jenkins from the old machine",
        "updated_at": "2026-09-01",
    }
    new = {"id": "mem_new", "statement": "deploy with actions", "updated_at": "2026-01-01"}
    doubt = {"id": "mem_doubt", "statement": "deploy by hand", "status": "contested"}
    for replaced in (old, doubt):
        if side == "superseded_by":
            replaced["superseded_by"] = ["mem_new"]
    if side == "supersedes":
        new["supersedes"] = ["mem_old", "mem_doubt"]
    with engine_on(tmp_path, [old, new, doubt, OTHER]) as engine:
        found = ask(engine, "deploy with jenkins from the old machine")
        assert (ids(found), found.stats["folded"]) == (["mem_new"], {"mem_new": ["mem_old"]})
        assert found.contested == ()


@MODELS
def test_a_prompt_without_a_subject_selects_who_the_user_is_and_nothing_else(tmp_path, model):
    records = [
        {"id": "mem_it", "statement": "what it is and then deploy"},
        {"id": "mem_me", "layer": "L1", "statement": "Mina"},
    ]
    with engine_on(tmp_path, records, model=model) as engine:
        found = ask(engine, "and then?")
        assert (ids(found), found.stats["off_topic"]) == (["mem_me"], True)
        assert ids(ask(engine, "and then deploy?")) == ["mem_me", "mem_it"]


def test_places_of_identity_go_to_playbooks_where_there_is_less_of_it(tmp_path):
    playbooks = [{"id": f"mem_{n:02}", "statement": f"deploy rule {n} of {n * 7}"} for n in range(20)]
    people = [{"id": f"mem_who{n}", "layer": "L1", "statement": f"name {n}"} for n in range(6)]
    for known, left in ((0, 12), (1, 11), (6, 8)):
        with engine_on(tmp_path / str(known), [*playbooks, *people[:known]]) as engine:
            layers = [hit.layer for hit in ask(engine, "deploy rule").selected]
        assert (layers.count("L1"), layers.count("L2")) == (min(known, 4), left)


def test_least_relevance_is_the_callers_then_the_roots_then_the_models(tmp_path):
    records = [
        {"id": f"mem_{n}", "statement": text} for n, text in enumerate(["bun runs tests", "paint the wall"])
    ]
    with engine_on(tmp_path, records, model=Calibrated(64)) as engine:
        turn = SessionContext(latest_user_message="bun tests")
        assert ids(engine.build_retrieval_context(turn)) == ["mem_0"]
        assert ids(engine.build_retrieval_context(turn, min_relevance=0)) == ["mem_0", "mem_1"]
        assert ids(engine.build_retrieval_context(turn, min_relevance=1)) == []
        assert [hit.id for hit in engine.search("bun tests", min_relevance=1)] == []
        with pytest.raises(ValueError, match="min_relevance must be from 0 to 1, got 2"):
            engine.build_retrieval_context(turn, min_relevance=2)
    (tmp_path / "root" / "config.json").write_text('{"retrieval": {"minRelevance": 0}}')
    with engine_on(tmp_path, records, model=Calibrated(64)) as engine:
        assert ids(engine.build_retrieval_context(turn)) == ["mem_0", "mem_1"]
        assert ids(engine.build_retrieval_context(turn, min_relevance=0.34)) == ["mem_0"]
