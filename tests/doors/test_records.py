"""What each door shows of a record: what kind of rule it is, and nothing where memory has nothing to say."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.doors import ways
from tests.doors.world import make_world

ASKED = "may I print tokens in the log"
UNRELATED = "zebra genome sequencing"
AVOID = "AVOID: Print tokens and passwords in a log."
UNHEARD = "[anti_pattern] Settle ledger payments by hand."


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("records"), "2026-06-30")


@pytest.fixture
def world(made, monkeypatch):
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.folder)
    return made


def by_id(rows):
    return {row["id"]: row for row in rows}


def searched(world, query):
    return json.loads(world.run("search", query, "--json"))


def http_search(world, query):
    with ways.server(world) as host:
        return ways.post(host, "/search", {"query": query})["hits"]


def http_recall(world, query):
    with ways.server(world) as host:
        return ways.post(host, "/recall", {"query": query})["results"]


def mcp_recall(world, query):
    return ways.call_mcp(world, "recall", {"query": query}).structured_content["results"]


ROWS = [searched, http_search, http_recall, mcp_recall]


@pytest.mark.parametrize("rows", ROWS, ids=lambda rows: rows.__name__)
def test_every_row_has_the_rule_type(rows, world):
    assert by_id(rows(world, ASKED))["mem_secrets"]["rule_type"] == "avoid_pattern"
    unheard = by_id(rows(world, "settle payments by hand"))["mem_unheard"]
    assert (unheard["rule_type"], unheard["status"]) == ("anti_pattern", "active")


@pytest.mark.parametrize("rows", ROWS, ids=lambda rows: rows.__name__)
def test_a_record_is_found_by_its_id(rows, world):
    assert rows(world, "what does mem_mine say about payments?")[0]["id"] == "mem_mine"
    assert rows(world, "mem_disputed")[0]["id"] == "mem_disputed"


@pytest.mark.parametrize("rows", ROWS, ids=lambda rows: rows.__name__)
def test_nothing_is_said_where_nothing_fits(rows, world):
    assert rows(world, UNRELATED) == []


def test_texts_say_what_kind_of_rule_it_is(world):
    assert AVOID in world.run("search", ASKED)
    assert UNHEARD in world.run("search", "settle payments by hand")
    assert "CONTESTED: AVOID: Settle" in world.run("search", "mem_disputed")
    assert AVOID in ways.call_mcp(world, "recall", {"query": ASKED}).content[0].text
    assert by_id(http_recall(world, ASKED))["mem_secrets"]["snippet"] == AVOID


def test_qmd_rows_of_memory(world):
    world.run("qmd", "collection", "add", str(world.root), "--name", "memory")
    world.run("qmd", "update")
    for command in ("search", "vsearch", "query"):
        rows = json.loads(world.run("qmd", command, "print tokens", "--json"))["results"]
        assert rows[0]["rule_type"] == "avoid_pattern" and AVOID in rows[0]["snippet"]
        named = json.loads(world.run("qmd", command, "what is mem_mine about?", "--json"))["results"]
        assert (named[0]["id"], named[0]["score"]) == ("mem_mine", 1)
        waiting = ("qmd", command, UNRELATED, "--json", "--wait")
        assert json.loads(world.run(*waiting))["results"] == []
    assert AVOID in world.run("qmd", "search", "print tokens")
    assert AVOID in world.run("qmd", "get", "memory/mem_secrets.md")
    answer = ways.call_mcp(world, "query", {"query": "print tokens"})
    assert answer.structured_content["results"][0]["rule_type"] == "avoid_pattern"


def test_an_unrelated_question_is_abstained_from_with_synapses_own_client(world):
    why = "synapse-channel is not installed (extra: peers)"
    synapse = pytest.importorskip("synapse_channel.participants", reason=why)
    with ways.server(world) as host:
        theirs = synapse.RemanentiaHttpRecall(f"http://{host}")
        nothing = asyncio.run(theirs.recall(UNRELATED, top_k=3))
        something = asyncio.run(theirs.recall(ASKED, top_k=3))
    assert (nothing.abstained, nothing.hits) == (True, ())
    assert not something.abstained and something.hits[0].snippet == AVOID
