"""The configuration file: changed whole or not at all, and never overwritten where it cannot be read."""

from __future__ import annotations

import json
import threading

import pytest

from pi_rank.files.locks import Held, exclusive, is_held
from pi_rank.qmd import config
from pi_rank.qmd.config import Collection, Config
from pi_rank.qmd.errors import QmdError


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "deep" / "index.pi-rank.json"
    collection = Collection("c", "/notes", "*.md", config.MEMORY, False, {"sub": "Über uns"})
    with config.changing(path) as box:
        assert box[0] == Config({})
        box[0] = Config({"c": collection}, "All", True)
    assert config.load(path) == Config({"c": collection}, "All", True)
    assert [file.name for file in path.parent.iterdir() if file.suffix == ".tmp"] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"collections": []}',
        '{"collections": {"c": {}}}',
        '{"collections": {"c": {"path": 5}}}',
        '{"collections": {"c": {"path": "/x", "colour": "red"}}}',
        '{"collections": {"c": {"path": "/x", "kind": "pdf"}}}',
        '{"collections": {}, "global_context": 3}',
        "\udce9",
    ],
)
def test_a_broken_file_is_named_and_left_alone(world, text):
    file = world.write("config/qmd/index.pi-rank.json", text.encode("utf-8", "surrogateescape"))
    before = file.read_bytes()
    world.documents()
    for argv in (["search", "--json", "x"], ["collection", "add", "docs"], ["update"], ["status"]):
        ran = world.qmd(*argv)
        assert (ran.code, ran.out) == (1, "")
        assert str(file) in ran.err
    assert file.read_bytes() == before


def test_changes_at_once_are_all_kept(tmp_path):
    path = tmp_path / "config.json"

    def add(number):
        with config.changing(path) as box:
            box[0] = box[0].with_collection(Collection(f"c{number}", "/x"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(config.load(path).collections) == 20


def test_contexts_go_from_wide_to_narrow():
    contexts = {"": "the whole", "a": "folder", "a/b.md": "file", "ab": "another"}
    made = Config({"c": Collection("c", "/x", contexts=contexts)}, "everywhere")
    assert made.context("c", "a/b.md") == "everywhere\n\nthe whole\n\nfolder\n\nfile"
    assert made.context("c", "x.md") == "everywhere\n\nthe whole"
    assert made.context("gone", "x.md") == "everywhere"


def test_a_lock_has_one_holder(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    with exclusive(path):
        assert is_held(path)
        with pytest.raises(Held), exclusive(path):
            pytest.fail("two holders")
    assert not is_held(path)


def test_unknown_collections_and_names(world):
    docs = world.documents()
    world.ok("collection", "add", str(docs), "--name", "c")
    assert world.qmd("search", "-c", "x", "y").err == "Collection not found: x\n"
    assert world.qmd("collection", "add", str(docs), "--name", "a/b", "--mask", "*.txt").code == 1
    assert world.qmd("--index", "../up", "status").code == 1
    assert world.ok("--index", "other", "status").count("No collections") == 1
    stored = json.loads((world.home / "config/qmd/index.pi-rank.json").read_text(encoding="utf-8"))
    assert list(stored["collections"]) == ["c"]


def test_errors_are_no_tracebacks(world):
    for argv in (
        ["get"],
        ["multi-get"],
        ["search"],
        ["context", "add"],
        ["collection", "rename", "a"],
        ["nope"],
    ):
        ran = world.qmd(*argv)
        assert ran.code == 1 and ran.out == "" and ran.err
    with pytest.raises(QmdError, match="x"):
        config.Config({}).collection("x")
