"""What a search imports and costs: nothing that it does not need, and less than importing numpy alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pi_rank.qmd.commands import shim
from tests.support.memory import write_root

resource = pytest.importorskip("resource")
HEAVY = {
    "numpy",
    "onnxruntime",
    "tokenizers",
    "hnswlib",
    "rich",
    "msgspec",
    "argparse",
    "asyncio",
    "subprocess",
    "mcp",
}
RECORDS = [
    {"id": f"mem_{n:04}", "statement": f"Note {n}: rotate the cache of worker {n % 7}."} for n in range(1000)
]
CHINESE = "星期五可以部署到生产环境吗"
# As long as one argument of a process can be, but for a little: a question with something pasted behind it.
LONG = {
    "english": "should we deploy on friday? "
    + " ".join(f"line{n} at module{n % 99}" for n in range(6000))[:120_000],
    "chinese": CHINESE + "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(36_000 - len(CHINESE))),
}


@pytest.fixture
def pi(world):
    """A memory collection of 1,000 records, and the shim as a script."""
    rules = [
        {"id": "mem_deploy", "statement": "Never deploy on Friday."},
        {"id": "mem_zh", "statement": "星期五下午绝对不要部署到生产环境。"},
    ]
    root = write_root(world.home / "root", [*RECORDS, *rules])
    world.ok("collection", "add", str(root), "--name", "pi")
    world.environment["PI_RANK_QMD_DAEMON"] = "off"
    text = shim.program(sys.executable).partition("\n")[2]
    return world, str(world.write("shim.py", text))


def modules_of(world, script, *argv):
    """The modules that the command had loaded when it ended."""
    code = (
        "import sys, atexit, json; sys.argv[:] = sys.argv[1:]; "
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr)); "
        "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, script, *argv],
        env=world.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return set(json.loads(done.stderr.splitlines()[-1])), done.stdout


def test_a_cold_search_loads_nothing_heavy(pi):
    world, script = pi
    modules, out = modules_of(
        world, script, "vsearch", "--json", "-c", "pi", "-n", "12", "should we deploy on friday?"
    )
    assert json.loads(out)["results"][0]["id"] == "mem_deploy"
    assert not HEAVY & {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
@pytest.mark.parametrize(
    ("query", "id_"),
    [(CHINESE, "mem_zh"), (LONG["english"], "mem_deploy"), (LONG["chinese"], "mem_zh")],
    ids=["chinese", "long", "long chinese"],
)
def test_neither_another_script_nor_a_long_prompt_loads_more(pi, command, query, id_):
    world, script = pi
    modules, out = modules_of(world, script, command, "--json", "-c", "pi", "-n", "12", query)
    assert json.loads(out)["results"][0]["id"] == id_
    assert not HEAVY & {name.partition(".")[0] for name in modules}


def test_a_warm_search_loads_the_launcher_and_a_socket(pi):
    world, script = pi
    modules, _ = modules_of(world, script, "--version")
    world.environment.pop("PI_RANK_QMD_DAEMON")
    boot = [sys.executable, "-I", script]
    world.write("none", "")
    environment = {**world.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([*boot, "daemon", "start"], env=environment, check=True, capture_output=True, timeout=60)
    try:
        warm, out = modules_of(world, script, "search", "--json", "-c", "pi", "deploy")
    finally:
        subprocess.run(
            [*boot, "daemon", "stop"], env=environment, check=True, capture_output=True, timeout=60
        )
    assert json.loads(out)["results"][0]["id"] == "mem_deploy"
    assert "launcher" in warm and "_socket" in warm
    assert not {"pi_rank", "sqlite3", "socket"} & warm
    assert "pi_rank" in modules


def seconds(argv, environment, rounds=7):
    """The least CPU time of the process, of several runs: what other programs do matters little to it."""
    least = float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, env=environment, check=True, capture_output=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


@pytest.mark.parametrize(
    ("query", "most"),
    [("should we deploy?", 1), (CHINESE, 1), (LONG["english"], 1), (LONG["chinese"], 2)],
    ids=["english", "chinese", "long", "long chinese"],
)
def test_a_cold_search_costs_less_than_importing_numpy(pi, query, most):
    world, script = pi
    search = [sys.executable, "-I", "-S", script, "vsearch", "--json", "-c", "pi", "-n", "12", query]
    numpy = [sys.executable, "-c", "import numpy"]
    assert seconds(search, world.environment) < most * seconds(numpy, dict(os.environ))
