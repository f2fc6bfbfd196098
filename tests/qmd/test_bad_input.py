"""Queries that programs pass on unseen: stdout holds the result and nothing else, whatever comes."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.memory import write_root

QUERIES = [
    "--help me",
    "-n",
    "-",
    "--",
    "deploy\nfriday\r\n\ttab",
    "nul\0inside",
    '"unbalanced quote',
    "NEAR(deploy friday) AND OR NOT *",
    "title:deploy ^deploy deploy* (",
    "部署",
    "\udce9\udcff bytes that are no UTF-8",
    "🚀",
    "   ",
    "'; DROP TABLE files; --",
    "word " * 20_000,
    "x" * 100_000,
]


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory):
    from tests.qmd.conftest import World

    with pytest.MonkeyPatch.context() as patch:
        made = World(tmp_path_factory.mktemp("bad"))
        for name, value in made.environment.items():
            patch.setenv(name, value)
        made.ok("collection", "add", str(made.documents()), "--name", "docs")
        root = write_root(made.home / "root", [{"id": "mem_a", "statement": "Never deploy on Friday."}])
        made.ok("collection", "add", str(root), "--name", "pi")
        yield made


def answered(world, *argv):
    """The JSON on stdout; None for a usage error, which leaves stdout empty."""
    ran = world.qmd(*argv)
    if ran.code == 1:
        assert ran.out == "" and "Traceback" not in ran.err
        return None
    assert ran.code == 0
    return json.loads(ran.out)


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_every_query_is_answered(shared_world, command, query):
    for collection, kind in (("docs", list), ("pi", dict)):
        result = answered(shared_world, command, "--json", "-c", collection, "-n", "5", query)
        assert result is None or isinstance(result, kind)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=60))
def test_any_text_at_all(shared_world, query):
    answered(shared_world, "search", "--json", "-c", "docs", "--", query)
    answered(shared_world, "query", "--json", "-c", "pi", "--", query)


@pytest.mark.parametrize("format_", ["cli", "json", "csv", "md", "xml", "files"])
def test_stdout_is_text_that_utf8_can_carry(shared_world, format_):
    shared_world.write("docs/odd.md", b'# Odd \xe9 \x01\n\nzebra \x02 \xff , "quote"\n')
    shared_world.ok("update", "-c", "docs")
    out = shared_world.ok("search", "--format", format_, "zebra")
    assert "zebra" in out or format_ == "files"
    out.encode()
    if format_ == "xml":
        from xml.etree import ElementTree

        ElementTree.fromstring(out)
    if format_ == "csv":
        import csv
        import io

        rows = list(csv.reader(io.StringIO(out)))
        assert len(rows) == 2 and len(rows[0]) == len(rows[1]) == 7


def test_modes_of_json(shared_world):
    """PI's shape belongs to memory collections; PI_RANK_QMD_MODE forces one or the other."""
    argv = ["search", "--json", "-c"]
    assert isinstance(answered(shared_world, *argv, "pi", "deploy"), dict)
    assert isinstance(answered(shared_world, *argv, "docs", "deploy"), list)
    assert isinstance(answered(shared_world, *argv, "docs", "-c", "pi", "deploy"), list)
    forced = shared_world.qmd(*argv, "pi", "deploy", PI_RANK_QMD_MODE="qmd")
    (row,) = json.loads(forced.out)
    assert row["file"] == "qmd://pi/memory/mem_a.md" and row["id"] == "mem_a"
    forced = shared_world.qmd(*argv, "docs", "-c", "pi", "deploy", PI_RANK_QMD_MODE="pi")
    assert [row["id"] for row in json.loads(forced.out)["results"]] == ["mem_a"]


def test_an_id_that_pi_would_misread_is_left_out(shared_world):
    records = [{"id": "mem_a-b", "statement": "Zebra one."}, {"id": "mem_ab", "statement": "Zebra two."}]
    records.append({"id": "note 7", "statement": "Zebra three."})
    root = write_root(shared_world.home / "odd_ids", records)
    shared_world.ok("collection", "add", str(root), "--name", "odd")
    ran = shared_world.qmd("search", "--json", "-c", "odd", "zebra")
    assert [row["id"] for row in json.loads(ran.out)["results"]] == ["mem_ab"]
    assert ran.err.count("Left out: PI cannot read the id") == 2


LONG = "9" * 5000
NOT_UTF8 = "\udcff"


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["multi-get", "[z-a]*"], 1),
        (["multi-get", "[!]"], 1),
        (["multi-get", "**/" * 14 + "zz*q"], 1),
        (["multi-get", "*" * 200 + "q"], 1),
        (["multi-get", "{" + ",".join(["a" * 50] * 2000) + "}"], 1),
        (["get", f"alpha.md:1:{LONG}"], 0),
        (["get", f"alpha.md:{LONG}"], 0),
        (["get", "alpha.md", "--from", LONG, "-l", LONG], 0),
        (["search", "deploy", "-n", LONG], 0),
        (["search", "deploy", "-n", "0" * 5000], 0),
        (["multi-get", "*.md", "--max-bytes", LONG], 0),
        (["context", "add", f"qmd://docs/{NOT_UTF8}", f"{NOT_UTF8} text"], 0),
        (["context", "rm", f"qmd://docs/{NOT_UTF8}"], 0),
        (["context", "add", "~nobody-of-that-name/x", "text"], 1),
        (["collection", "add", "~nobody-of-that-name"], 1),
        (["collection", "add", ".", "--name", NOT_UTF8], 1),
        (["collection", "add", ".", "--name", "m", "--mask", "[z-a].md"], 1),
        (["collection", "add", ".", "--name", "m", "--mask", f"{NOT_UTF8}*.md"], 1),
        (["collection", "rename", "docs", NOT_UTF8], 1),
        (["update", "-c", NOT_UTF8], 1),
        (["ls", f"docs/{NOT_UTF8}"], 0),
        (["search", "deploy", "--min-score", "nan"], 0),
        (["search", "deploy", "--index", "../x"], 1),
    ],
)
def test_odd_arguments_get_an_answer_or_a_reason(shared_world, argv, code):
    ran = shared_world.qmd(*argv)
    assert ran.code == code, ran
    assert "Traceback" not in ran.err and (ran.err.strip() or code == 0)
    assert shared_world.qmd("search", "deploy").code == 0, "and the next command works"


def test_one_collection_does_not_stop_the_update_of_the_others(world):
    """A pattern of an older version that means nothing, and a store that cannot be read."""
    world.ok("collection", "add", str(world.documents()), "--name", "z")
    root = write_root(world.home / "root", [{"id": "mem_a", "statement": "Never deploy on Friday."}])
    world.ok("collection", "add", str(root), "--name", "memory")
    config = world.home / "config" / "qmd" / "index.pi-rank.json"
    known = json.loads(config.read_text(encoding="utf-8"))
    broken = {**known["collections"]["z"], "pattern": "[z-a].md"}
    known["collections"] = {"a": broken, **known["collections"]}
    config.write_text(json.dumps(known), encoding="utf-8")
    store = known["collections"]["memory"]["store"]
    with open(store, "r+b") as stream:  # noqa: PTH123
        stream.write(b"no database " * 100)
    world.write("docs/zebra.md", "# Zebra\n\nzebra\n")
    ran = world.qmd("update")
    assert ran.code == 1
    assert "a was not updated: Not a pattern" in ran.err and "memory was not updated: " in ran.err
    assert "✓ All" not in ran.out
    assert "zebra.md" in world.ok("search", "--files", "-c", "z", "zebra")


def test_a_configuration_that_is_no_configuration(world):
    for text in ("[" * 100_000, '{"collections": {"\\ud800": {"path": "/x"}}}', "[]", "null", "{}"):
        world.write("config/qmd/index.pi-rank.json", text)
        ran = world.qmd("update")
        assert ran.code == 1 and "is broken" in ran.err, (text[:30], ran)
