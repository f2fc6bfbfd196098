"""An answer of the daemon is the one that the command finds itself, byte for byte, however it is asked."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys

import pytest

from tests.daemon.conftest import PACKAGE, Ran

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets")

PROMPT = "Can I deploy orchard to production this Friday?"
EVENT = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": "/home/mina/work/orchard-api"}
TURNS = b'{"latest_user_message": "How do we deploy?"}\n{"no": 1}\n{"latest_user_message": "ok"}\n'
SLOW = ["--deadline-ms", "60000"]
# (words, standard input, variables)
FORMS = {
    "context": (["context", PROMPT], b"", {}),
    "another day": (["context", PROMPT, "--today", "2026-06-30"], b"", {}),
    "json": (["context", PROMPT, "--json"], b"", {}),
    "explain": (["context", PROMPT, "--explain"], b"", {}),
    "a message of pi": (["context", PROMPT, "--as", "pi-message"], b"", {}),
    "from stdin": (["context", "-"], PROMPT.encode() + b"\n", {}),
    "odd bytes on stdin": (["context", "-"], b"\xff deploy \xe4\x00 orchard", {}),
    "odd bytes in a word": (["context", b"\xff deploy orchard"], b"", {}),
    "a dash": (["context", "--", "--dry-run"], b"", {}),
    "trivial": (["context", "ok"], b"", {}),
    "nothing": (["context", ""], b"", {}),
    "small": (["context", PROMPT, "--max-bytes", "300", "--max-records", "1"], b"", {}),
    "words only": (["context", PROMPT, "--model", "none"], b"", {}),
    "a project elsewhere": (["context", PROMPT, "--cwd", "../lumen-app"], b"", {}),
    "a profile": (["context", PROMPT, "--profile", "project:lumen-app"], b"", {}),
    "not synced": (["context", PROMPT, "--no-sync"], b"", {}),
    "a root beside": (["context", PROMPT, "--root", "../memory"], b"", {}),
    "a root by variable, beside": (["context", PROMPT], b"", {"PI_MEMORY_ROOT": "../memory"}),
    "a root in the home": (["context", PROMPT, "--root", "~/memory"], b"", {}),
    "no root": (["context", PROMPT, "--root", "nowhere"], b"", {}),
    "the default root": (["context", PROMPT], b"", {"PI_MEMORY_ROOT": ""}),
    "a store beside": (["context", PROMPT, "--store", "store.sqlite3"], b"", {}),
    "stores elsewhere": (["context", PROMPT], b"", {"XDG_DATA_HOME": "/nowhere"}),
    "wrong usage": (["context"], b"", {}),
    "a wrong value": (["context", PROMPT, "--today", "tomorrow"], b"", {}),
    "an unknown option": (["search", "x", "--what"], b"", {}),
    "help": (["context", "--help"], b"", {}),
    "help of another width": (["search", "--help"], b"", {"COLUMNS": "50"}),
    "search": (["search", "roll back", "-k", "5"], b"", {}),
    "search by words": (["search", "deploy", "--mode", "lexical", "--json"], b"", {}),
    "search by meaning": (["search", "shipping", "--mode", "semantic", "--json"], b"", {}),
    "search here": (["search", "deploy", "--cwd", "."], b"", {}),
    "search of nothing": (["search", "  "], b"", {}),
    "search from stdin": (["search", "-"], b"deploy", {}),
    "batch": (["batch", "-"], TURNS, {}),
    "batch of a file": (["batch", "turns.jsonl", "--explain"], b"", {}),
    "batch of no file": (["batch", "missing.jsonl"], b"", {}),
    "hook": (["hook", "claude-code", *SLOW], json.dumps(EVENT).encode(), {}),
    "hook of pi": (
        ["hook", "pi", *SLOW],
        json.dumps({**EVENT, "hook_event_name": "before_agent_start"}).encode(),
        {},
    ),
    "a broken event": (["hook", "codex"], b"{", {}),
    "qmd's status": (["qmd", "status"], b"", {}),
    "qmd's search": (["qmd", "search", "deploy", "--json"], b"", {}),
    "qmd by meaning": (["qmd", "vsearch", "shipping on friday"], b"", {}),
    "qmd of no document": (["qmd", "get", "missing.md"], b"", {}),
    "no agent": (["hook"], b"{}", {}),
    "hook help": (["hook", "--help"], b"", {}),
}
_TIMES = re.compile(rb"\d+\.\d+(?= [\xc2ms])")
_STEPS = "memory|processors|contested|embedding|ranking|reranking|selection|block|total"
_TIMINGS = re.compile(rb'("(?:%b)": ?)\d[\d.e-]*' % _STEPS.encode())


def comparable(ran):
    """Without the times that a turn took."""
    return ran.code, _TIMINGS.sub(rb"\1_", _TIMES.sub(b"_", ran.out)), _TIMES.sub(b"_", ran.err)


@pytest.mark.parametrize("form", FORMS)
def test_it_answers_as_the_command_does(warm, form):
    words, stdin, variables = FORMS[form]
    (warm.folder / "turns.jsonl").write_bytes(TURNS)
    if "--" in words or words[0] == "qmd":  # where nothing of ours is an option
        cold = warm.run(*words, stdin=stdin, PI_RANK_DAEMON="off", **variables)
    else:
        cold = warm.run(*words, "--no-daemon", stdin=stdin, **variables)
    asked = warm.ask(*words, stdin=stdin, **variables)
    assert asked.code != 99, "the daemon did not answer"
    assert comparable(asked) == comparable(cold)


def test_files_are_written_where_and_as_the_client_would(warm):
    (warm.folder / "turns.jsonl").write_bytes(TURNS)
    assert warm.ask("batch", "turns.jsonl", "-o", "asked.jsonl").code == 0
    assert warm.run("batch", "turns.jsonl", "-o", "own.jsonl", "--no-daemon").code == 0
    asked, own = warm.folder / "asked.jsonl", warm.folder / "own.jsonl"
    assert _TIMINGS.sub(rb"\1_", asked.read_bytes()) == _TIMINGS.sub(rb"\1_", own.read_bytes())
    assert asked.stat().st_mode == own.stat().st_mode


def test_a_folder_that_was_removed(warm, tmp_path):
    gone = tmp_path / "gone"
    command = shlex.join([sys.executable, "-I", "-S", str(PACKAGE / "launch.py"), "context", PROMPT])

    def run(**more):
        script = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec {command}"
        done = subprocess.run(["sh", "-c", script], capture_output=True, env={**warm.environment, **more})
        return comparable(Ran(done.returncode, done.stdout, done.stderr))

    assert run() == run(PI_RANK_DAEMON="off")


def test_what_changes_in_memory_is_in_the_next_answer(warm):
    record = {
        "id": "mem_newest", "layer": "L2", "scope": {"type": "global"}, "confidence": 0.95, "status":
        "active", "statement": "The zeppelin of orchard is painted mauve.", "rule_type": "workflow",
        "created_at": "2026-06-01T00:00:00Z", "updated_at": "2026-06-01T00:00:00Z",
    }  # fmt: skip
    with (warm.home / "memory" / "memory" / "L2.playbooks.jsonl").open("a") as stream:
        stream.write(json.dumps(record) + "\n")
    assert b"mem_newest" in warm.ask("search", "mauve zeppelin").out
    assert b"mem_newest" in warm.ask("context", "What colour is the zeppelin of orchard?").out


def test_a_store_that_was_made_anew_is_found(warm):
    before = warm.ask("search", "deploy").out
    (store,) = (warm.home / ".cache" / "pi-rank" / "stores").glob("memory-*/store.sqlite3")
    for file in store.parent.iterdir():
        file.unlink()
    assert warm.ask("search", "deploy").out == before
    assert store.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["qmd", "update"],
        ["qmd", "query", "x", "--wait"],
        ["qmd"],
        ["context", "x", "--no-daemon"],
        ["context", "x", "--model", "a/b"],
        ["search", "x", "--model=a/b"],
    ],
)
def test_what_is_left_to_the_client(warm, words):
    assert warm.ask(*words).code == 99


def test_a_large_batch_is_a_process_of_its_own(warm):
    assert warm.ask("batch", "-", stdin=TURNS * 5_000).code == 99
    (warm.folder / "large.jsonl").write_bytes(TURNS * 5_000)
    assert warm.ask("batch", "large.jsonl").code == 99


def test_another_kernel_is_not_the_daemons(warm):
    assert warm.ask("context", PROMPT, PI_RANK_KERNEL="portable").code == 99
