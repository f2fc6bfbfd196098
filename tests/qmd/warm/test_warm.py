"""The warm process ranks by the core; the cold one by FTS5: one order, and every update is seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pi_rank.qmd.arguments import parse
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.commands.embedding_run import embed
from pi_rank.qmd.config import load
from pi_rank.qmd.paths import places
from pi_rank.qmd.warm import files as warm_files
from pi_rank.store.store import MemoryStore
from tests.qmd.warm.conftest import embed_all
from tests.support.memory import write_root

WORDS = [
    "deploy",
    "cache",
    "rotate",
    "worker",
    "database",
    "schema",
    "review",
    "invoice",
    "remote",
    "token",
    "index",
    "branch",
]


def notes(n, seed=7):
    rng = np.random.default_rng(seed)
    for number in range(n):
        size = int(rng.integers(5, 60))
        yield f"n{number:03}.md", f"# Note {number}\n\n" + " ".join(rng.choice(WORDS, size)) + "\n"


def add_notes(world, n=60):
    for name, text in notes(n):
        world.write(f"notes/{name}", text)
    world.ok("collection", "add", str(world.home / "notes"), "--name", "notes")


def files(rows):
    return [row["file"] for row in rows]


@pytest.mark.parametrize("query", ["deploy the cache of a worker zzzz", "invoice token zzzz", "review"])
def test_cold_and_warm_orders_agree(hosted, query):
    """`search` falls back to any word: FTS5 in the cold process, LexicalIndex in the warm one."""
    add_notes(hosted.world)
    cold = json.loads(hosted.world.ok("search", "--json", "-n", "50", "--explain", query))
    warm = hosted.json("search", "--json", "-n", "50", "--explain", query)
    assert files(warm) == files(cold) and len(cold) > 5
    assert [row["score"] for row in warm] == pytest.approx([row["score"] for row in cold], abs=0.011)
    assert {row["explain"]["mode"] for row in [*cold, *warm]} <= {"any", "all"}


def test_cold_and_warm_orders_of_records_agree(hosted):
    records = [{"id": f"mem_{name[:4]}", "statement": text.replace("\n", " ")} for name, text in notes(60)]
    root = write_root(hosted.world.home / "root", records)
    hosted.world.ok("collection", "add", str(root), "--name", "pi")
    argv = ["search", "--json", "-n", "50", "-c", "pi", "deploy the cache of a worker zzzz"]
    cold, warm = json.loads(hosted.world.ok(*argv)), hosted.json(*argv)
    assert [row["id"] for row in warm["results"]] == [row["id"] for row in cold["results"]]
    assert [row["score"] for row in warm["results"]] == [row["score"] for row in cold["results"]]


@pytest.mark.parametrize("query", ["周二部署", "备份", "部", "데이터베이스"])
def test_cold_and_warm_orders_agree_in_scripts_without_spaces(hosted, query):
    texts = [
        *("部署必须在周二早上", "周二不开会", "备份每周日凌晨恢复演练一次", "部署前先备份", "无关的句子"),
        *("데이터베이스를 백업한다", "데이터는 많다"),
    ]
    records = [{"id": f"mem_{number}", "statement": text} for number, text in enumerate(texts)]
    hosted.world.ok("collection", "add", str(write_root(hosted.world.home / "root", records)), "--name", "pi")
    argv = ["search", "--json", "-n", "50", "-c", "pi", query]
    cold, warm = json.loads(hosted.world.ok(*argv)), hosted.json(*argv)
    assert [row["id"] for row in warm["results"]] == [row["id"] for row in cold["results"]] != []
    assert [row["score"] for row in warm["results"]] == [row["score"] for row in cold["results"]]


def test_updates_are_seen_and_deleted_files_are_gone(hosted):
    add_notes(hosted.world)
    query = ["search", "--json", "-n", "99", "zebra or deploy"]
    assert len(hosted.json(*query)) > 10
    hosted.world.write("notes/zebra.md", "# Zebra\n\nzebra zebra\n")
    (hosted.world.home / "notes" / "n000.md").unlink()
    hosted.world.write("notes/n001.md", "# Changed\n\nnothing of it\n")
    hosted.world.ok("update")
    found = files(hosted.json(*query))
    assert found[0] == "qmd://notes/zebra.md"
    assert not {"qmd://notes/n000.md", "qmd://notes/n001.md"} & set(found)
    cold = json.loads(hosted.world.ok(*query))
    assert files(cold) == found


def test_an_index_that_is_mostly_new_is_built_again(hosted, monkeypatch):
    monkeypatch.setattr(warm_files, "MIN_DEAD_ROWS", 10)
    add_notes(hosted.world, 40)
    hosted.json("query", "--json", "deploy")
    for name, text in notes(40, seed=8):
        hosted.world.write(f"notes/{name}", text)
    hosted.world.ok("update")
    argv = ["search", "--json", "-n", "50", "deploy zzzz yyyy"]
    assert files(hosted.json(*argv)) == files(json.loads(hosted.world.ok(*argv)))
    assert len(hosted.warm._files._version.ids) == 40


def test_meaning(hosted):
    hosted.world.documents()
    hosted.world.ok("collection", "add", str(hosted.world.home / "docs"), "--name", "docs")
    assert hosted.json("vsearch", "--json", "--explain", "deploy zzz")[0]["explain"]["mode"] == "any", (
        "not embedded"
    )
    assert embed_all(hosted.world)[:2] == (4, 0)
    rows = hosted.json("vsearch", "--json", "--explain", "forbidden release days")
    assert rows[0]["file"] == "qmd://docs/mem_20260101_deploy.md"
    assert rows[0]["explain"]["mode"] == "semantic"
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert len({row["file"] for row in rows}) == 5


def test_words_and_meaning_are_fused(hosted):
    hosted.world.documents()
    hosted.world.ok("collection", "add", str(hosted.world.home / "docs"), "--name", "docs")
    embed_all(hosted.world)
    (row,) = hosted.json("query", "--json", "--explain", "-n", "1", "when is a deploy on friday forbidden")
    assert row["explain"]["mode"] == "hybrid"
    parts = row["explain"]["rrf"]["contributions"]
    assert [part["source"] for part in parts] == ["fts", "vec"]
    words, cosine = (part["backendScore"] for part in parts)
    assert row["explain"]["blendedScore"] == pytest.approx(1 - (1 - words) * (1 - cosine))


def test_structured_queries_weigh_the_first_search_twice(hosted):
    hosted.world.documents()
    hosted.world.ok("collection", "add", str(hosted.world.home / "docs"), "--name", "docs")
    rows = hosted.json("query", "--json", "--explain", "lex: ruff\nlex: deploy friday")
    assert rows[0]["file"] == "qmd://docs/sub/beta.md"
    swapped = hosted.json("query", "--json", "lex: deploy friday\nlex: ruff")
    assert swapped[0]["file"] == "qmd://docs/mem_20260101_deploy.md"


def test_the_best_passage_of_a_long_document_is_shown(hosted):
    filler = "".join(
        f"## Part {n}\n\n" + "The committee met and spoke about chairs. " * 60 + "\n\n" for n in range(12)
    )
    text = f"# Minutes\n\n{filler}## Zoo\n\nPenguins are fed with herring at eight.\n\n{filler}"
    hosted.world.write("notes/long.md", text)
    hosted.world.ok("collection", "add", str(hosted.world.home / "notes"), "--name", "notes")
    embed_all(hosted.world)
    (row,) = hosted.json("vsearch", "--json", "what do the birds in the zoo eat?")
    lines = text.split("\n")
    assert "Penguins" in "\n".join(lines[row["line"] - 2 : row["line"] + 3])


def test_records_in_the_engines_own_order(hosted):
    records = [
        {"id": "mem_deploy", "statement": "Never deploy on Friday."},
        {"id": "mem_tests", "statement": "Run bun test before every commit."},
        {"id": "mem_gone", "statement": "Deploy on Friday."},
    ]
    root = write_root(hosted.world.home / "root", records, tombstones=["mem_gone"])
    hosted.world.ok("collection", "add", str(root), "--name", "pi")
    embed_all(hosted.world)
    rows = hosted.json("query", "--json", "--explain", "-c", "pi", "deploy at the end of the week")["results"]
    assert rows[0]["explain"]["mode"] == "hybrid"
    engine = hosted.warm.engine(root)
    assert [row["id"] for row in rows] == [
        hit.id for hit in engine.search("deploy at the end of the week", k=20)
    ]
    assert "mem_gone" not in {row["id"] for row in rows}


def test_embedding_stops_at_the_deadline_and_goes_on_later(world):
    add_notes(world, 80)
    call = Call(
        parse(["embed"]), places(world.environment), world.environment, "/", lambda _: None, lambda _: None
    )
    collections = list(load(call.places.config).collections.values())
    none, passages, busy = embed(call, collections, 0.0)
    assert (none, busy) == (0, "") and passages >= 80  # at least one of each file
    assert embed(call, collections, None) == (passages, 0, "")
    assert embed(call, collections, None) == (0, 0, "")


def test_a_store_answers_with_the_model_that_was_chosen_for_it(hosted):
    """Vectors of two models are never compared; a model that is not there is named, and words answer."""
    world = hosted.world
    root = write_root(world.home / "root", [{"id": "mem_deploy", "statement": "Never deploy on Friday."}])
    world.ok("collection", "add", str(root), "--name", "pi")
    embed_all(world)
    ask = ["vsearch", "--json", "--explain", "-c", "pi", "shipping at the weekend, or deploy"]
    assert hosted.json(*ask)["results"][0]["explain"]["mode"] == "semantic"
    card = str(world.home / "gone.toml")
    with MemoryStore.open(load(places(world.environment).config).collections["pi"].store) as store:
        store.choose_model(card, answering=card)
        ((text_hash, _),) = store.missing_vectors("another")
        store.put_vectors("another", [text_hash], np.eye(1, 4, dtype=np.float32))
    ran = world.qmd("embed")
    assert ran.code == 1 and card in ran.err
    updated = world.qmd("update")
    assert updated.code == 0 and "Nothing was embedded" in updated.err
    with pytest.warns(RuntimeWarning, match="lexical only"):
        assert hosted.json(*ask)["results"][0]["explain"]["mode"] == "any"


def test_one_embedding_run_at_a_time(world):
    from pi_rank.files.locks import exclusive

    add_notes(world, 3)
    with exclusive(places(world.environment).embed_lock):
        ran = world.qmd("embed")
        assert ran.code == 1 and "Another embedding run is at work" in ran.err
        updated = world.qmd("update")
        assert updated.code == 0 and "Another embedding run is at work" in updated.err
    assert world.ok("embed") == "✓ Embedded 3 passages\n"
    assert world.ok("embed") == "✓ All content already has embeddings\n"
    assert world.ok("embed", "-f") == "✓ Embedded 3 passages\n"
