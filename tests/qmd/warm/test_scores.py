"""What a score says: how relevant a document is, in any collection, by any command. And what stderr says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.files.locks import exclusive
from pi_rank.qmd.paths import places
from pi_rank.qmd.search.search import LEX, VEC, Source, fused
from pi_rank.qmd.shelves.found import Found, Ranked
from pi_rank.qmd.shelves.query_language import Search
from tests.qmd.warm.conftest import embed_all
from tests.support.memory import write_root

PRINTER = "# Printer setup\n\nThe spooler of the third floor is restarted on Monday.\n"
LUNCH = "# Lunch\n\nSoup is served at noon.\n"
UNRELATED = "zebra genome sequencing"


@pytest.fixture
def notes(hosted):
    """Two notes that are embedded, and a memory root that is not."""
    hosted.world.write("notes/a.md", PRINTER)
    hosted.world.write("notes/b.md", LUNCH)
    hosted.world.ok("collection", "add", str(hosted.world.home / "notes"), "--name", "notes")
    embed_all(hosted.world)
    records = [
        {
            "id": "mem_printer",
            "statement": "Printers: the spooler of the third floor is restarted on Monday.",
        },
        {"id": "mem_lunch", "statement": "Soup is served at noon."},
    ]
    root = write_root(hosted.world.home / "root", records)
    hosted.world.ok("collection", "add", str(root), "--name", "pi")
    return hosted


def rows(answer):
    return answer["results"] if isinstance(answer, dict) else answer


@pytest.mark.parametrize("collection", ["notes", "pi"])
def test_the_unrelated_stay_under_a_least_score(notes, collection):
    embed_all(notes.world)
    ask = ["query", "--json", "-c", collection]
    scores = [row["score"] for row in rows(notes.json(*ask, UNRELATED))]
    cosines = [row["score"] for row in rows(notes.json("vsearch", *ask[1:], UNRELATED))]
    assert scores == sorted(scores, reverse=True) and max([0, *scores]) < 0.4
    assert max([0, *cosines]) < 0.4
    assert rows(notes.json(*ask, "--min-score", "0.4", UNRELATED)) == []
    best = rows(notes.json(*ask, "--min-score", "0.4", "how do I restart the print service?"))
    assert len(best) == 1 and "printer" in best[0]["file"] + best[0]["title"].lower()


def test_structured_queries_have_scores_of_the_same_kind(notes):
    lines = "vec: zebra genome sequencing\nhyde: the genome of zebras was sequenced\nlex: zebra"
    assert notes.json("query", "--json", "-c", "notes", "--min-score", "0.4", lines) == []
    lines = "vec: restarting the spooler of the printers\nlex: spooler"
    (row,) = notes.json("query", "--json", "-c", "notes", "--min-score", "0.4", lines)
    assert row["file"] == "qmd://notes/a.md"


def test_files_and_records_are_compared_by_the_same_measure(notes):
    embed_all(notes.world)
    mixed = notes.json("query", "--json", "when is the spooler restarted?")
    assert [row["title"] for row in mixed[:2]] == ["Printer setup", "mem_printer"] or [
        row["title"] for row in mixed[:2]
    ] == ["mem_printer", "Printer setup"]
    assert mixed[1]["score"] > 0.4 > mixed[2]["score"]


found_lists = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.floats(0, 1)), max_size=6, unique_by=lambda pair: pair[0]
)


def ranked(mode, pairs):
    pairs = sorted(pairs, key=lambda pair: -pair[1])
    return Ranked(mode if pairs else "none", [Found("c", path, path, "h", score) for path, score in pairs])


@given(found_lists, found_lists)
def test_relevance_is_no_less_than_either_source_says(words, meaning):
    sources = [
        Source(Search(LEX, "q"), 1.0, ranked("any", words)),
        Source(Search(VEC, "q"), 1.0, ranked("semantic", meaning)),
    ]
    answer = fused(sources, 10)
    expected = {
        path: 1 - (1 - dict(words).get(path, 0)) * (1 - dict(meaning).get(path, 0))
        for path in {*dict(words), *dict(meaning)}
    }
    assert {each.path: each.score for each in answer.found} == pytest.approx(expected)
    assert all(0 <= each.score <= 1 for each in answer.found)
    scores = [each.score for each in answer.found]
    assert scores == sorted(scores, reverse=True)


def told(hosted, *argv):
    """What stderr says of a command in the warm process."""
    return hosted.run(*argv)[1]


def test_a_cold_search_says_why_it_goes_by_words(world):
    """Also where nothing is found, and where a daemon runs that gave no answer."""
    world.ok("collection", "add", str(world.documents()), "--name", "docs")
    for query in ("deploy", "how do I reboot the print service"):
        for command in ("vsearch", "query"):
            ran = world.qmd(command, "--files", query)
            assert ran.code == 0
            assert ran.err.startswith("Ranked by words: no daemon runs ('qmd daemon start'"), ran
    where = places(world.environment)
    with exclusive(where.daemon_lock):
        assert "gave no answer in time" in world.qmd("vsearch", "--files", "deploy").err
    assert world.qmd("search", "--files", "deploy").err == ""


def test_a_warm_search_says_what_is_not_embedded(notes):
    assert told(notes, "vsearch", "-c", "notes", "spooler") == ""
    assert told(notes, "vsearch", "-c", "pi", "spooler") == (
        "Ranked by words: nothing of pi is embedded yet ('qmd update').\n"
    )
    assert "Not all was ranked by meaning: nothing of pi" in told(notes, "vsearch", "spooler")
    notes.world.write("notes/c.md", "# Zoo\n\nPenguins are fed with herring at eight.\n")
    with exclusive(places(notes.world.environment).embed_lock):  # embedding waits for another process
        notes.world.qmd("update")
    assert "1 files of notes are not wholly embedded yet" in told(notes, "query", "-c", "notes", "spooler")
    assert told(notes, "search", "spooler") == ""
    embed_all(notes.world)
    assert told(notes, "query", "spooler") == ""


def test_status_counts_the_vectors_of_memory(notes):
    before = notes.world.ok("status")
    assert "Vectors:  2 embedded\n  Pending:  2 need embedding" in before
    assert "    Vectors:  0 embedded, 2 pending\n    Store:    " in before
    embed_all(notes.world)
    after = notes.world.ok("status")
    assert "Vectors:  4 embedded\n" in after and "Pending" not in after
    assert "    Vectors:  2 embedded, 0 pending\n" in after
    store = json.loads((notes.world.home / "config/qmd/index.pi-rank.json").read_text(encoding="utf-8"))
    assert f"    Store:    {store['collections']['pi']['store']} (" in after
