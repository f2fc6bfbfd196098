"""The commands on a copy of the sample memory, in this process, ranking by words only."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import pi_rank
from pi_rank.cli.program import main
from pi_rank.embedding.registry import DEFAULT_MODEL, cards_folder
from tests.support.memory_files import replace_with

SAMPLE = Path(pi_rank.__file__).parent / "sample"
ORCHARD = "/home/mina/work/orchard-api"


@pytest.fixture
def root(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def run(root, tmp_path, capsys):
    """Runs a command on the copy; gives back exit code, stdout and stderr."""

    def run_command(command, *argv):
        given = ["--root", str(root), "--store", str(tmp_path / "store.sqlite"), "--model", "none"]
        code = main([command, *argv, *given])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command


def test_sync_counts(run):
    assert run("sync") == (
        0,
        "90 added, 0 changed, 0 removed, 0 unchanged; 0 texts embedded, 0 lines skipped\n",
        "",
    )
    assert run("sync")[1].startswith("0 added, 0 changed, 0 removed, 90 unchanged;")


def test_sync_names_what_it_skips(run, root):
    with (root / "memory" / "L1.identity.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "mem_1"}\n')
    code, out, err = run("sync")
    assert code == 0
    assert out.endswith(", 1 lines skipped\n")
    assert err == "pi-rank: skipped memory/L1.identity.jsonl:12: statement is missing\n"


def test_sync_json(run):
    report = json.loads(run("sync", "--json")[1])
    assert report["added"] == 90
    assert report["skipped"] == []


def test_memory_files_are_never_written(run, root):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for command in (
        ["sync"],
        ["context", "deploy orchard", "--cwd", ORCHARD],
        ["search", "deploy"],
        ["rebuild"],
    ):
        assert run(*command)[0] == 0
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_context_prints_the_block_and_notes_the_steps(run):
    code, out, err = run(
        "context", "Can I deploy orchard on Friday?", "--cwd", ORCHARD, "--today", "2026-06-30"
    )
    assert code == 0
    assert out.startswith(
        "# Persistent Intelligence Context\n\n## Hard Rules\n⚠️ AVOID: [conf 0.97] Push straight"
    )
    assert "## Daily Log (2026-06-30)\n" in out
    assert err.startswith("pi-rank: lexical: ")
    assert " · total " in err


def test_context_json_is_the_whole_answer(run):
    code, out, _ = run("context", "Can I deploy orchard on Friday?", "--cwd", ORCHARD, "--json")
    answer = json.loads(out)
    assert code == 0
    assert list(answer) == [
        "markdown",
        "bytes",
        "mode",
        "selected",
        "hard_rules",
        "contested",
        "traces",
        "stats",
        "timings_ms",
    ]
    assert answer["bytes"] == len(answer["markdown"].encode())
    assert [trace["processor"] for trace in answer["traces"]] == [
        "StatusFilterProcessor",
        "ProfileScopeProcessor",
        "BasicScopeProcessor",
        "NegativeScopeProcessor",
    ]
    reasons = answer["traces"][0]["exclusion_reasons"]
    assert reasons["mem_20260211_ghost"] == "status:tombstoned"


def test_context_as_the_message_of_a_pi_extension(run):
    block = run("context", "Can I deploy orchard on Friday?", "--cwd", ORCHARD, "--today", "2026-06-30")[1]
    message = run(
        "context",
        "Can I deploy orchard on Friday?",
        "--cwd",
        ORCHARD,
        "--today",
        "2026-06-30",
        "--as",
        "pi-message",
    )[1]
    assert json.loads(message) == {
        "customType": "pi-persistent-intelligence-context",
        "content": block,
        "display": False,
    }
    assert run("context", "thanks!", "--as", "pi-message")[1] == "null\n"


def test_context_explains(run):
    out = run("context", "Can I deploy orchard on Friday?", "--cwd", ORCHARD, "--explain")[1]
    assert "selected" in out
    assert "lexical #1" in out
    assert "project_scope_mismatch:lumen-app" in out
    assert "known_exceptions:on a Friday" in out


def test_context_of_another_profile(run):
    out = run("context", "How do we deploy for the client?", "--profile", "project:harbor-client", "--json")[
        1
    ]
    assert "mem_20260410_clienta" in out
    assert "mem_20260410_clienta" in json.loads(out)["markdown"] or json.loads(out)["hard_rules"]


def test_context_for_a_prompt_not_worth_memory(run):
    code, out, err = run("context", "thanks!", "--cwd", ORCHARD)
    assert (code, out) == (0, "")
    assert err.startswith("pi-rank: none: 0 hard rules, 0 selected, 0 contested, 0 bytes;")


def test_context_keeps_to_its_budget(run):
    answer = json.loads(run("context", "deploy orchard", "--cwd", ORCHARD, "--max-bytes", "700", "--json")[1])
    assert 0 < answer["bytes"] <= 700


def test_context_reads_the_prompt_from_stdin(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("部署 检查 什么？\n".encode())))
    out = run("context", "-", "--cwd", ORCHARD)[1]
    assert "mem_20260320_bushu" in out


def test_context_without_sync_answers_from_the_store(run, root):
    run("sync")
    replace_with(root / "memory" / "L2.playbooks.jsonl", b"")
    assert "mem_20260209_canary" in run("context", "canary deploy", "--no-sync")[1]
    assert "mem_20260209_canary" not in run("context", "canary deploy")[1]


def test_search(run):
    code, out, err = run("search", "canary error rate", "-k", "1")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["record", "layer", "score", "relevance", "from", "statement"]
    assert lines[1].startswith("mem_20260209_canary  L2     ")
    assert len(lines) == 2
    assert err == ""


def test_search_json(run):
    hits = json.loads(run("search", "canary error rate", "-k", "2", "--json")[1])
    assert hits[0]["id"] == "mem_20260209_canary"
    assert hits[0]["sources"][0]["source"] == "lexical"
    assert len(hits) == 2


def test_search_that_finds_nothing(run):
    assert run("search", "xylophone") == (0, "", "pi-rank: no record matches\n")
    assert run("search", "xylophone", "--json")[1] == "[]\n"


def test_search_in_a_place_leaves_out_what_does_not_apply(run):
    everywhere = run("search", "pnpm lock file", "--json")[1]
    assert "mem_20260413_pnpm" in everywhere
    assert "mem_20260413_pnpm" not in run("search", "pnpm lock file", "--cwd", ORCHARD, "--json")[1]


def test_of_a_file_that_is_no_memory_a_few_lines_are_named(run, root):
    with (root / "memory" / "L2.playbooks.jsonl").open("a") as file:
        file.write("not json\n" * 5_000)
    lines = run("context", "Why did the canary fail?")[2].splitlines()
    assert len([line for line in lines if line.startswith("pi-rank: skipped")]) == 21
    assert "pi-rank: skipped 4,980 more lines; `pi-rank sync --json` names all 5,000" in lines


def test_a_search_says_what_it_goes_without(run, tmp_path):
    store = tmp_path / "store.sqlite"
    run("sync")
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE records SET payload = replace(payload, 'a', 'b') WHERE rowid = 1")
    asked = (["search", "canary error rate"], ["context", "Why did the canary fail?"])
    for words in asked:
        code, out, err = run(*words)
        assert (code, bool(out)) == (0, True)
        assert err.count("1 records of the store are damaged and left out; `pi-rank doctor` names them") == 1
    store.write_bytes(b"SQLite format 3\0pi_rank-0123456789abcdef01234567" + bytes(9_000))
    for words in asked:
        code, out, err = run(*words)
        assert (code, bool(out)) == (0, True)
        assert err.count("Until then answered from the memory files, by words alone") == 1


def test_status(run):
    run("sync")
    code, out, _ = run("status", "--json")
    assert code == 0
    assert json.loads(out)["records"] == 90
    assert run("status")[0] == 0


def test_missing_root_is_one_clear_line(tmp_path, capsys):
    missing = tmp_path / "nowhere"
    assert main(["sync", "--root", str(missing), "--store", str(tmp_path / "s"), "--model", "none"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"pi-rank: the memory root {missing} does not exist; ")
    assert captured.err.count("\n") == 1


def test_rebuild_of_a_sound_store(run):
    run("sync")
    code, out, err = run("rebuild")
    assert code == 0
    assert out.startswith("90 added, ")
    assert err == ""


def test_rebuild_of_a_damaged_store_keeps_the_old_file(run, tmp_path):
    store = tmp_path / "store.sqlite"
    run("sync")
    half = store.read_bytes()[: store.stat().st_size // 2]
    store.write_bytes(half)
    code, out, err = run("context", "canary deploy")
    assert (code, "mem_20260209_canary" in out) == (0, True)
    assert "`pi-rank rebuild` makes a new store" in err
    assert "answered from the memory files" in err
    code, out, err = run("sync")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "`pi-rank rebuild` makes a new store" in err
    code, out, err = run("rebuild")
    assert code == 0
    assert out.startswith("90 added, 0 changed, 0 removed, 0 unchanged;")
    aside = tmp_path / "store.sqlite.broken-1"
    assert err.startswith(f"pi-rank: warning: the old store is now {aside}; it may hold what was deleted")
    assert aside.read_bytes() == half
    assert run("search", "canary", "-k", "1")[0] == 0


def test_rebuild_leaves_a_text_alone(run, tmp_path):
    text = tmp_path / "store.sqlite"
    text.write_text("Dear diary\n" * 90, encoding="utf-8")
    for command in (("rebuild",), ("sync",), ("context", "deploy")):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert err.startswith(f"pi-rank: {text} is no store of pi_rank and is left alone")
    assert text.read_text(encoding="utf-8") == "Dear diary\n" * 90
    assert [path.name for path in tmp_path.glob("store*")] == ["store.sqlite"]


def test_rebuild_leaves_another_programs_file_alone(run, tmp_path):
    store = tmp_path / "store.sqlite"
    connection = sqlite3.connect(store)
    connection.execute("CREATE TABLE precious (value)")
    connection.commit()
    connection.close()
    before = store.read_bytes()
    code, out, err = run("rebuild")
    assert (code, out) == (1, "")
    assert "another program's SQLite file and is left alone" in err
    assert store.read_bytes() == before


def test_store_is_in_the_cache_folder_by_default(root, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PI_MEMORY_ROOT", str(root))
    assert main(["sync", "--model", "none"]) == 0
    assert len(list((tmp_path / "cache").rglob("store.sqlite3"))) == 1
    assert not list(root.rglob("*.sqlite3"))
    capsys.readouterr()


@pytest.fixture
def altered_model(tmp_path):
    """The card of a copy of the shipped model, cut short."""
    card = cards_folder() / f"{DEFAULT_MODEL}.toml"
    shutil.copytree(cards_folder() / DEFAULT_MODEL, tmp_path / DEFAULT_MODEL)
    shutil.copy(card, tmp_path / card.name)
    with (tmp_path / DEFAULT_MODEL / "encoder.bin").open("r+b") as file:
        file.truncate(1000)
    return tmp_path / card.name


def test_an_altered_model_costs_the_meaning_and_not_the_answer(root, tmp_path, altered_model, capsys):
    argv = ["context", "deploy orchard", "--root", str(root), "--store", str(tmp_path / "s"), "--json"]
    assert main([*argv, "--model", str(altered_model)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["mode"] == "lexical"
    assert captured.err.startswith("pi-rank: warning: ranking is lexical only: model file ")
    assert captured.err.count("\n") == 1


def test_doctor_finds_an_altered_model(root, tmp_path, altered_model, capsys):
    argv = ["doctor", "--root", str(root), "--store", str(tmp_path / "s"), "--model", str(altered_model)]
    assert main(argv) == 1
    out = capsys.readouterr().out
    assert f"WRONG model: model file {tmp_path / DEFAULT_MODEL / 'encoder.bin'} is not the one " in out
    assert "Restore the file, or correct [files] in " in out


def test_a_model_that_is_not_there_is_one_clear_line(root, tmp_path, capsys):
    argv = ["sync", "--root", str(root), "--store", str(tmp_path / "s"), "--model", str(tmp_path / "no.toml")]
    assert main(argv) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("90 added, ")
    assert captured.err == (
        "pi-rank: warning: ranking is lexical only: "
        f"model card {tmp_path / 'no.toml'} cannot be read: No such file or directory\n"
    )
