"""PI's way of calling qmd, from Node: its argument lists, deadline and parser, against the shim."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from pi_rank.qmd import command
from tests.support.memory import write_root

NODE = shutil.which("node")
SHARED = os.environ.get("PI_RANK_SHARED")
DEADLINE_MS = 800
C = "pi-persistent-intelligence"
CALLER = Path(__file__).with_name("pi_caller.mjs")
pytestmark = [
    pytest.mark.skipif(not NODE, reason="node is not installed"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the shim is for POSIX systems"),
]
RECORDS = [
    {
        "id": "mem_deploy_day",
        "statement": "Never deploy on Friday; deploy Tuesday mornings instead.",
        "tags": ["release"],
    },
    {"id": "mem_bun_tests", "statement": "Run bun test before every commit.", "tags": ["testing"]},
    {"id": "mem_python_style", "statement": "Prefer f-strings over percent formatting in Python."},
    {"id": "mem_gone", "statement": "Deploy on Friday with the old script."},
    {"id": "mem_old", "statement": "Deploy by FTP on Friday.", "status": "deprecated"},
    {"id": "mem_zh_deploy", "statement": "星期五下午绝对不要部署到生产环境。"},
    {"id": "mem_zh_cache", "statement": "缓存失效以后必须重启全部工作进程。"},
]
FILLER = [
    {"id": f"mem_filler_{n:04}", "statement": f"Note {n}: rotate the cache of worker {n % 7}."}
    for n in range(995)
]


class Pi:
    """PI's process: an environment with the shim first on PATH, and a memory root in PI's layout."""

    def __init__(self, home: Path, records) -> None:
        self.root = write_root(home / "root", records, tombstones=["mem_gone"])
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "c"),
            "PI_RANK_CACHE_DIR": str(home / "stores"),
            "PYTHONPATH": str(Path(command.__file__).parents[2]),
        }
        self.run_module("install-shim", str(home / "bin"))
        self.environment["PATH"] = f"{home / 'bin'}{os.pathsep}{self.environment['PATH']}"

    def run_module(self, *argv: str) -> str:
        """`pi-rank qmd …`, as a user types it."""
        done = subprocess.run(
            [sys.executable, "-m", "pi_rank.cli", "qmd", *argv],
            env=self.environment, capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        return done.stdout

    def node(self, document, deadline=DEADLINE_MS, repeat=1):
        """What the Node caller made of its input."""
        done = subprocess.run(
            [str(NODE), str(CALLER), str(deadline), str(repeat)],
            input=json.dumps(document),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=280,
        )
        return json.loads(done.stdout)

    def setup(self) -> None:
        """PI's set-up and first update, with its own deadlines."""
        calls = [
            ["collection", "add", str(self.root), "--name", C],
            *(
                ["context", "add", f"qmd://{C}/{part}", f"About {part}", "-c", C]
                for part in ("rendered", "daily", "sessions")
            ),
        ]
        assert [row["code"] for row in self.node({"calls": calls}, 10_000)] == [0, 0, 0, 0]
        (again,) = self.node({"calls": calls[:1]}, 10_000)
        assert again["code"] == 1
        (update,) = self.node({"calls": [["update", "-c", C]]}, 30_000)
        assert update["code"] == 0, update

    @contextmanager
    def daemon(self):
        """A running daemon that has loaded its model."""
        self.run_module("daemon", "start")
        try:
            deadline = time.monotonic() + 60
            while self.ids("vsearch", "shipping to production at the weekend")[:1] != ["mem_deploy_day"]:
                assert time.monotonic() < deadline, "the daemon never answered by meaning"
            yield
        finally:
            self.run_module("daemon", "stop")

    def ids(self, command_, query, n=12, deadline=DEADLINE_MS):
        """The record ids that PI reads."""
        (row,) = self.node({"calls": [[command_, "--json", "-c", C, "-n", str(n), query]]}, deadline)
        return row["ids"]


@pytest.fixture(scope="module")
def pi(tmp_path_factory):
    made = Pi(tmp_path_factory.mktemp("pi"), RECORDS + FILLER)
    made.setup()
    return made


@contextmanager
def busy_cores():
    """Every core at work for somebody else."""
    cores = os.cpu_count() or 2
    needed = 0 if os.getloadavg()[0] > 2 * cores else cores  # others see to it already
    workers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(needed)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


@pytest.mark.skipif(not SHARED, reason="PI_RANK_SHARED names no folder with the observed cases")
def test_the_caller_reads_as_pi_does(pi):
    cases = json.loads((Path(SHARED) / "cases/pi-observed.json").read_text(encoding="utf-8"))["parse_qmd_ids"]
    assert pi.node({"stdouts": [case["stdout"] for case in cases]}) == [case["ids"] for case in cases]


@pytest.mark.skipif(not SHARED, reason="PI_RANK_SHARED names no folder with the observed cases")
def test_pi_argument_lists(pi):
    observed = json.loads((Path(SHARED) / "cases/pi-observed.json").read_text(encoding="utf-8"))["qmd_args"]
    calls = [argv for name, argv in observed.items() if name not in ("setup", "update", "search_keyword")]
    rows = pi.node({"calls": [["search", "--json", "-c", C, "-n", "3", "deploy"], *calls]}, 60_000)
    for row in rows:
        assert row["code"] == 0, row
        assert list(json.loads(row["stdout"])) == ["results"]
    assert rows[0]["ids"] == ["mem_deploy_day"]


def test_cold_ids_arrive_in_rank_order(pi):
    assert pi.ids("vsearch", "should we deploy on friday?")[0] == "mem_deploy_day"
    assert pi.ids("search", "bun test") == ["mem_bun_tests"]
    assert pi.ids("query", "which way of formatting Python strings?")[0] == "mem_python_style"


def test_deleted_and_deprecated_records_stay_away(pi):
    for ids in (pi.ids("vsearch", "deploy friday script ftp", 50), pi.ids("search", "deploy", 50)):
        assert "mem_deploy_day" in ids
        assert not {"mem_gone", "mem_old"} & set(ids)


def test_warm_ids_arrive_by_meaning(pi):
    with pi.daemon():
        assert pi.ids("vsearch", "shipping to production at the weekend")[0] == "mem_deploy_day"
        assert len(pi.ids("vsearch", "shipping to production at the weekend")) == 12
        assert pi.ids("query", "checks to do prior to committing")[0] == "mem_bun_tests"


def test_a_write_is_found_after_the_update(pi):
    """Cold and warm: PI updates after each write, and searches at once."""
    file = pi.root / "memory" / "L2.playbooks.jsonl"
    before = file.read_text(encoding="utf-8")
    record = {
        "id": "mem_zebra",
        "layer": "L2",
        "statement": "Zebras graze at noon.",
        "status": "active",
        "confidence": 0.9,
    }
    with pi.daemon():
        file.write_text(before + json.dumps(record) + "\n", encoding="utf-8")
        pi.node({"calls": [["update", "-c", C]]}, 30_000)
        assert pi.ids("search", "zebras") == ["mem_zebra"]
        assert pi.ids("vsearch", "when do striped horses eat?")[0] == "mem_zebra"
        file.write_text(before, encoding="utf-8")
        pi.node({"calls": [["update", "-c", C]]}, 30_000)
        assert pi.ids("search", "zebras") == []
        assert "mem_zebra" not in pi.ids("vsearch", "when do striped horses eat?", 50)


CHINESE = "星期五下午可以部署到生产环境吗"
# PI hands over what the user wrote: a question, and whatever was pasted behind it.
PROMPTS = {
    "english": ("should we deploy on friday?", "mem_deploy_day"),
    "chinese": (CHINESE, "mem_zh_deploy"),
    "long": (
        "should we deploy on friday? " + " ".join(f"line{n}" for n in range(9_000))[:100_000],
        "mem_deploy_day",
    ),
    "long chinese": (CHINESE + "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(36_000)), "mem_zh_deploy"),
}


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "daemon"])
def test_ids_in_rank_order_in_time(pi, warm, busy):
    """PI's deadline is kept, whatever the prompt, and with every core at work for others too."""
    calls = [["vsearch", "--json", "-c", C, "-n", "12", prompt] for prompt, _ in PROMPTS.values()]
    with pi.daemon() if warm else nullcontext(), busy_cores() if busy else nullcontext():
        found = pi.node({"calls": calls}, repeat=4)
    answered = dict.fromkeys(PROMPTS, 0)
    for row, (name, (_, best)) in zip(found, list(PROMPTS.items()) * 4, strict=True):
        if row["ms"] >= DEADLINE_MS:
            continue  # the machine is shared: one of four may be lost to what others do on it
        assert row["ids"][:1] == [best], (name, row)
        scores = [each["score"] for each in json.loads(row["stdout"])["results"]]
        assert scores == sorted(scores, reverse=True)
        by_words = "Ranked by words: the model does not know the question's words.\n"
        assert row["stderr"] == (by_words if "chinese" in name else "") or not warm
        answered[name] += 1
    assert min(answered.values()) >= 3, (answered, [row["ms"] for row in found])
