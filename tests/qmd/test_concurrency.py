"""Many processes search while one updates: no error, no empty answer, no deleted row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from pi_rank.qmd.paths import places
from pi_rank.qmd.warm.warm import Warm

SECONDS = float(os.environ.get("PI_RANK_QMD_STRESS_SECONDS", "6"))
SEARCHERS = 8
# Searches in one process as fast as it can, cold ones through the command and warm ones through the core, and
# says what was wrong. The document `steady.md` is always there; `gone-N.md` is never there after its removal
# was reported in the file `removed`.
SEARCHER = """
import json, os, sys, time
from pathlib import Path
from pi_rank.qmd import command
from pi_rank.qmd.arguments import parse
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.paths import places
from pi_rank.qmd.warm.warm import Warm

def removed():
    return int(Path("removed").read_text() or 0)

def rows(warm, *argv):
    out, err = [], []
    if warm is None:
        code = command.run(argv, os.environ, os.getcwd(), out.append, err.append)
    else:
        where = places(os.environ)
        call = Call(parse(argv), where, os.environ, os.getcwd(), out.append, err.append, warm)
        code = command.dispatch(call)
    assert code == 0, err
    return json.loads("".join(out))

problems, searches = [], 0
with Warm.opened(places(os.environ), models=False) as core:
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        for warm in (None, core):
            for query in ("steady word", "steady word zzzz"):
                before = removed()
                found = rows(warm, "search", "--json", "-n", "500", query)
                names = {row["file"].rpartition("/")[2] for row in found}
                if "steady.md" not in names:
                    problems.append(f"{query}: no answer")
                stale = [name for name in names if name.startswith("gone-") and int(name[5:-3]) <= before]
                problems += [f"{query}: stale {name}" for name in stale]
                searches += 1
print(json.dumps([searches, problems[:5]]))
"""


@pytest.mark.timeout(SECONDS * 5 + 120)
def test_eight_processes_search_while_one_updates(world):
    world.write("notes/steady.md", "# Steady\n\nsteady word\n")
    for number in range(20):
        world.write(f"notes/other-{number}.md", f"# Other {number}\n\n" + "word " * (number + 1))
    world.write("removed", "0")
    world.ok("collection", "add", str(world.home / "notes"), "--name", "notes")
    environment = {**world.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    searchers = [
        subprocess.Popen(
            [sys.executable, "-c", SEARCHER, str(SECONDS)],
            cwd=world.home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(SEARCHERS)
    ]
    updates = 0
    while any(searcher.poll() is None for searcher in searchers):
        updates += 1
        world.write(f"notes/gone-{updates}.md", "# Gone\n\nsteady word, but not for long\n")
        if updates > 1:
            (world.home / "notes" / f"gone-{updates - 1}.md").unlink()
        index_only(world)
        staged = world.write("removed.new", str(updates - 1))
        staged.replace(world.home / "removed")
    results = [searcher.communicate() for searcher in searchers]
    for out, err in results:
        assert err == ""
        searches, problems = json.loads(out)
        assert problems == [] and searches > 0
    assert updates > 3


def index_only(world):
    """An update without embedding, which is another test's."""
    from pi_rank.qmd.commands import update as update_commands

    patch = pytest.MonkeyPatch()
    patch.setattr(update_commands, "_embed_some", lambda *_: None)
    with patch.context():
        world.ok("update", "-c", "notes")
    patch.undo()


def test_two_updates_at_once(world):
    for number in range(200):
        world.write(f"notes/{number}.md", f"# Note {number}\n\nword {number}\n")
    config = world.ok("collection", "add", str(world.write("notes/x.md", "x").parent), "--name", "notes")
    assert "Indexed: 201 new" in config
    for number in range(0, 200, 2):
        world.write(f"notes/{number}.md", f"# Changed {number}\n\nword {number}\n")
        (world.home / "notes" / f"{number + 1}.md").unlink()
    environment = {**world.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    boot = "import sys; from pi_rank.qmd.command import main; sys.exit(main())"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", boot, "update"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outs
    counted = sorted(out.partition("Indexed: ")[2].partition("\n")[0] for out, _ in outs)
    assert counted == [
        "0 new, 0 updated, 101 unchanged, 0 removed",
        "0 new, 100 updated, 1 unchanged, 100 removed",
    ]
    assert len(json.loads(world.ok("search", "--json", "--all", "changed"))) == 100


def test_a_killed_update_leaves_the_index_as_it_was(world):
    for number in range(300):
        world.write(f"notes/{number}.md", f"# Note {number}\n\n" + f"word {number} " * 50)
    world.ok("collection", "add", str(world.write("docs/x.md", "# X\n\nzebra").parent), "--name", "c")
    for number in range(300):
        world.write(f"docs/{number}.md", f"# Note {number}\n\n" + f"zebra {number} " * 50)
    environment = {**world.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    boot = "import sys; from pi_rank.qmd.command import main; sys.exit(main())"
    killed = subprocess.Popen(
        [sys.executable, "-c", boot, "update"], env=environment, stdout=subprocess.DEVNULL
    )
    wal = places(world.environment).database.with_name("index.pi-rank.sqlite3-wal")
    deadline = time.monotonic() + 30
    while not (wal.exists() and wal.stat().st_size) and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    found = json.loads(world.ok("search", "--json", "--all", "zebra"))
    assert len(found) in (1, 301)
    with Warm.opened(places(world.environment), models=False):
        assert "301 unchanged" in world.ok("update") or len(found) == 1
    assert len(json.loads(world.ok("search", "--json", "--all", "zebra"))) == 301
