"""What doctor finds on a sound installation and on broken parts, and how it says so."""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

import pi_rank
from pi_rank.cli import checks
from pi_rank.cli.checks import (
    Check,
    check_core,
    check_fts5,
    check_hnswlib,
    check_libraries,
    check_memory,
    run_checks,
)
from pi_rank.cli.program import main
from pi_rank.errors import ModelError
from tests.support.graphs import needs_hnswlib

SAMPLE = Path(pi_rank.__file__).parent / "sample"
NAMES = [
    "python",
    "compiled core",
    "SQLite FTS5",
    "libraries",
    "hnswlib",
    "model",
    "trust",
    "memory files",
    "store",
]


@pytest.fixture(autouse=True)
def nothing_trusted(tmp_path, monkeypatch):
    """A folder of settings of its own: what the tester trusts is not looked at."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


@pytest.fixture
def root(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "root")
    return tmp_path / "root"


def options(**given):
    return argparse.Namespace(
        **{"root": None, "store": None, "model": "none", "json": False, "trust": False, **given}
    )


@needs_hnswlib
def test_all_in_order(root, tmp_path, capsys):
    store = str(tmp_path / "store.sqlite")
    assert main(["sync", "--root", str(root), "--store", store, "--model", "none"]) == 0
    capsys.readouterr()
    assert main(["doctor", "--root", str(root), "--store", store, "--model", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines[:-1]] == [f"ok    {name}" for name in NAMES]
    assert lines[-1] == "Everything is in order."
    assert lines[7] == f"ok    memory files: 90 records, 1 deletion markers in {root}"


@needs_hnswlib
def test_json(root, tmp_path, capsys):
    argv = ["doctor", "--root", str(root), "--store", str(tmp_path / "s"), "--model", "none", "--json"]
    assert main(argv) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True
    assert [check["name"] for check in answer["checks"]] == NAMES
    assert [check["state"] for check in answer["checks"]] == ["ok"] * 8 + ["note"]


def test_bad_lines_are_named(root, tmp_path, capsys):
    with (root / "memory" / "L2.playbooks.jsonl").open("a", encoding="utf-8") as file:
        file.write("not json\n")
    argv = ["doctor", "--root", str(root), "--store", str(tmp_path / "s"), "--model", "none"]
    assert main(argv) == 1
    out = capsys.readouterr().out
    assert "WRONG memory files: 90 records, 1 deletion markers" in out
    assert "memory/L2.playbooks.jsonl:56: not JSON" in out
    assert "      what to do: correct these lines; the others are used\n" in out
    assert out.endswith("1 of 9 checks found something wrong.\n")


def test_records_of_an_unnamed_project_are_named(root):
    path = root / "memory" / "L2.playbooks.jsonl"
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    unplaced = [line | {"id": f"mem_{n}", "scope": {"type": "project"}} for n in range(2)]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in unplaced)
    check = check_memory(options(root=str(root)))
    assert check.state == "note"
    assert check.detail.endswith(
        "of scope project without a project, so applied in every project: "
        "memory/L2.playbooks.jsonl:56; memory/L2.playbooks.jsonl:57"
    )
    assert check.fix.startswith("name the project in scope.project")


def test_many_bad_lines_are_counted(root):
    (root / "memory" / "tombstones.jsonl").write_text("{}\n" * 8, encoding="utf-8")
    check = check_memory(options(root=str(root)))
    assert check.state == "wrong"
    assert check.detail.endswith("; and 3 more")


def test_a_missing_folder_is_named_and_no_line_is_blamed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    check = check_memory(options(root=str(tmp_path / "elsewhere")))
    assert check.state == "wrong"
    assert f"the folder {tmp_path / 'elsewhere' / 'memory'} is missing" in check.detail
    assert check.fix == "give the folder that PI's memory folder is in: --root DIR, or set PI_MEMORY_ROOT"


def test_a_config_that_is_wrong_blames_no_line(root):
    (root / "config.json").write_text('{"retrieval": {"maxRecords": "many"}}', encoding="utf-8")
    check = check_memory(options(root=str(root)))
    assert (check.state, check.fix) == ("wrong", "mend these files; the others are used")
    assert "config.json: retrieval.maxRecords" in check.detail


def test_missing_root_says_what_to_do(tmp_path, capsys):
    assert main(["doctor", "--root", str(tmp_path / "nowhere"), "--model", "none"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if "memory files" in line)
    assert line.startswith(f"WRONG memory files: the memory root {tmp_path / 'nowhere'} does not exist; give")


def test_a_core_that_does_not_load(monkeypatch):
    broken = "pi_rank._core.negative_scope"
    monkeypatch.setattr(checks, "_import_error", lambda name: f"no {name}" if name == broken else "")
    check = check_core(options())
    assert check.state == "wrong"
    assert check.detail == "cannot load negative_scope (no pi_rank._core.negative_scope)"
    assert "pip install" in check.fix


def test_sqlite_without_fts5(monkeypatch):
    class Connection:
        def execute(self, _):
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self):
            pass

    monkeypatch.setattr(checks.sqlite3, "connect", lambda _: Connection())
    check = check_fts5(options())
    assert check.state == "wrong"
    assert check.detail == f"SQLite {sqlite3.sqlite_version}: no such module: fts5"


def test_a_missing_library(monkeypatch):
    monkeypatch.setattr(checks, "_import_error", lambda name: "not installed" if name == "msgspec" else "")
    assert check_libraries(options()) == Check(
        "libraries", "wrong", "cannot load msgspec (not installed)", "pip install --upgrade pi-rank"
    )


def test_a_missing_hnswlib_is_a_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    assert check_hnswlib(options()) == Check(
        "hnswlib",
        "note",
        "not installed: no graphs are built, vectors are scanned exactly whatever their number",
        "pip install 'pi-rank[hnsw]' (needs a C++ compiler)",
    )


def test_an_hnswlib_that_cannot_be_loaded_is_wrong(monkeypatch, tmp_path):
    (tmp_path / "hnswlib.py").write_text("raise ImportError('undefined symbol')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hnswlib", raising=False)
    check = check_hnswlib(options())
    assert (check.state, check.detail) == ("wrong", "cannot be loaded: undefined symbol")
    assert "--force-reinstall" in check.fix


def test_one_broken_check_does_not_stop_the_others(monkeypatch, root, tmp_path):
    def refuse(_):
        raise ModelError("the model is altered; install it again")

    def crash(_):
        raise RuntimeError("surprise")

    monkeypatch.setattr(checks, "check_model", refuse)
    monkeypatch.setattr(checks, "check_core", crash)
    found = {check.name: check for check in run_checks(options(root=str(root), store=str(tmp_path / "s")))}
    assert list(found) == NAMES
    assert found["model"] == Check("model", "wrong", "the model is altered; install it again", "")
    assert found["compiled core"] == Check(
        "compiled core", "wrong", "RuntimeError: surprise", checks.REINSTALL
    )
    assert found["memory files"].state == "ok"


def test_texts_that_are_not_embedded_yet(root, tmp_path, capsys):
    store = str(tmp_path / "store.sqlite")
    assert main(["sync", "--root", str(root), "--store", store, "--model", "none"]) == 0
    assert main(["doctor", "--root", str(root), "--store", store]) == 0
    out = capsys.readouterr().out
    assert "note  store: 90 records, no vectors in " in out
    assert "; 76 texts are not embedded yet\n      what to do: pi-rank sync embeds them\n" in out
    assert "ok    model: minilm-l6-int8: 3 files as in its card, 384 dimensions\n" in out
