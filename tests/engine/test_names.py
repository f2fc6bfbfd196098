"""Records are found by their ids, and a query that memory has nothing to do with finds nothing."""

from __future__ import annotations

import pytest

from pi_rank import MemoryEngine, SessionContext
from pi_rank.names import names_in
from tests.support.memory import engine_on, write_root

RECORDS = [
    {"id": "mem_20260401_deploycmd", "statement": "Deploy orchard with make release."},
    {"id": "mem_canary", "statement": "The canary takes a tenth of the traffic."},
    {"id": "mem_gone", "statement": "Deploy by hand.", "status": "superseded"},
    {"id": "mem_open", "statement": "Friday deploys are fine.", "status": "contested"},
    {"id": "note/7.b", "statement": "Printers are restarted on Mondays."},
    {"id": "plain", "statement": "Soup is served at noon."},
    {
        "id": "mem_elsewhere",
        "statement": "Shaders are compiled on demand.",
        "scope": {"type": "project", "project": "lumen"},
    },
]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("mem_x", "mem_x"),
        ("what does (mem_x)'s rule say?", "mem_x"),
        ("see `mem_x`, please", "mem_x"),
        ("记录mem_x的内容", "mem_x"),
        ("memory/mem_x.md", "mem_x"),
        ("- mem_x: superseded since it was recalled above", "mem_x"),
        ("plain", "plain"),
        ("  any text at all  ", "any text at all"),
        ("【记忆_甲】说什么", "【记忆_甲】说什么"),
        ("look at 记忆_甲，then", "记忆_甲"),
    ],
)
def test_names_in_a_text(text, named):
    assert named in names_in(text)


def test_plain_words_and_numbers_of_a_sentence_are_no_names():
    assert names_in("Deploy 2026 of plain soup, 12:30!") == ("Deploy 2026 of plain soup, 12:30!",)
    assert names_in(" \n") == ()
    assert len(names_in(" ".join(f"log_{number}" for number in range(10_000)))) == 64


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("mem_20260401_deploycmd", "mem_20260401_deploycmd"),
        ("the canary: what does mem_20260401_deploycmd say?", "mem_20260401_deploycmd"),
        ("what does note/7.b say about the canary", "note/7.b"),
        ("plain", "plain"),
        ("mem_open", "mem_open"),
    ],
)
def test_a_search_finds_a_record_by_its_id_first(tmp_path, mode, query, first):
    with engine_on(tmp_path, RECORDS) as engine:
        found = engine.search(query, mode=mode)
    assert (found[0].id, found[0].sources[0].source) == (first, "id")
    assert sorted((hit.score for hit in found), reverse=True) == [hit.score for hit in found]
    assert len({hit.id for hit in found}) == len(found)
    assert all(hit.score == pytest.approx(sum(s.score for s in hit.sources)) for hit in found)


@pytest.mark.parametrize("query", ["mem_gone", "what does mem_gone say", "mem_unheard_of"])
def test_what_is_no_longer_memory_is_not_found_by_its_id(tmp_path, query):
    with engine_on(tmp_path, RECORDS) as engine:
        assert "mem_gone" not in [hit.id for hit in engine.search(query)]


def test_an_id_opens_no_other_project(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        here = SessionContext(latest_user_message="mem_elsewhere", profile_id="project:orchard")
        there = SessionContext(latest_user_message="mem_elsewhere", profile_id="project:lumen")
        assert engine.search("mem_elsewhere", context=here) == []
        assert [hit.id for hit in engine.search("mem_elsewhere", context=there)] == ["mem_elsewhere"]
        assert engine.build_retrieval_context(here).selected == ()
        assert [hit.id for hit in engine.build_retrieval_context(there).selected] == ["mem_elsewhere"]


def test_a_turn_shows_what_it_names(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        turn = SessionContext(latest_user_message="Is the canary still as note/7.b and mem_open say?")
        (batched,) = engine.retrieve_batch([turn])
        alone = engine.build_retrieval_context(turn)
    assert batched.markdown == alone.markdown
    assert alone.selected[0].id == "note/7.b"
    assert alone.contested[0].id == "mem_open"


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_a_blank_query_finds_nothing(tmp_path, mode, blank):
    with engine_on(tmp_path, RECORDS) as engine:
        assert engine.search(blank, mode=mode) == []
        assert engine.search(blank, mode=mode, abstain=False) == []


def test_the_shipped_model_abstains_from_what_memory_has_nothing_to_do_with(tmp_path):
    with MemoryEngine.open(write_root(tmp_path / "root", RECORDS), store=tmp_path / "s.sqlite3") as engine:
        engine.sync()
        asked = "zebra genome sequencing protocols"
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=asked))
        assert (turn.stats["off_topic"], turn.selected, engine.search(asked)) == (True, (), [])
        assert engine.search(asked, abstain=False)
        assert [hit.id for hit in engine.search(f"{asked}: mem_canary")] == ["mem_canary"]
        assert engine.search("how is orchard deployed")[0].id == "mem_20260401_deploycmd"


@pytest.mark.parametrize(
    ("token", "statement", "neighbour"),
    [
        ("0x80070005", "0x80070005 means the antivirus holds the file.", "0x80070002 means a missing file."),
        ("JIRA-4521", "The flaky upload test is JIRA-4521.", "JIRA-452 is closed."),
        ("foo_bar", "Call foo_bar with the lock held.", "foo_baz is deprecated, bar_foo too."),
        ("3.11.4", "Lambdas are pinned to 3.11.4, for now.", "4.11.3 is the number of the old spec."),
        (
            "tests/e2e/login.spec.ts",
            "Quarantined: tests/e2e/login.spec.ts.",
            "tests/unit/login.spec.ts is fine.",
        ),
        ("getUserById", "Archived tenants break `getUserById`.", "getUserByEmail is fine."),
    ],
)
@pytest.mark.parametrize("phrasing", ["{}", "what do we know about {}?", "{}: what was it"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_the_record_that_holds_a_name_is_first(tmp_path, token, statement, neighbour, phrasing, mode):
    records = [{"id": "right", "statement": statement}, {"id": "near", "statement": neighbour}]
    records += [{"id": f"other_{i}", "statement": f"What we know about it was number {i}."} for i in range(5)]
    with engine_on(tmp_path, records) as engine:
        found = engine.search(phrasing.format(token), mode=mode)
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=phrasing.format(token)))
    assert (found[0].id, found[0].sources[0].source) == ("right", "name")
    assert turn.selected[0].id == "right"


def test_rrf_is_the_published_formula_and_knows_no_names(tmp_path):
    root = write_root(
        tmp_path / "root",
        [
            {"id": "a", "statement": "JIRA-452 and 4521 of it: jira 4521"},
            {"id": "b", "statement": "JIRA-4521, a test of it"},
        ],
    )
    for ranking, first in (("rrf", "a"), ("default", "b")):
        with MemoryEngine.open(root, store=tmp_path / "s", model=None, ranking=ranking) as engine:
            engine.sync()
            assert engine.search("JIRA-4521")[0].id == first


def test_a_name_is_found_where_the_rest_abstains(tmp_path):
    records = [*RECORDS, {"id": "cave", "statement": "Pumps are started by runPumpSequence in the cellar."}]
    with MemoryEngine.open(write_root(tmp_path / "root", records), store=tmp_path / "s.sqlite3") as engine:
        engine.sync()
        asked = "zebra genome sequencing protocols"
        assert engine.search(asked) == []
        assert next(hit.id for hit in engine.search(f"{asked} runPumpSequence")) == "cave"
        assert engine.search("where is the run pump sequence?")[0].id == "cave"
        assert engine.search("run_pump_sequence", mode="lexical")[0].id == "cave"
        turn = engine.build_retrieval_context(
            SessionContext(latest_user_message=f"{asked}: runPumpSequence?")
        )
        assert next(hit.id for hit in turn.selected) == "cave"
