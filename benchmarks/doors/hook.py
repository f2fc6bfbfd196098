"""What a prompt's hook costs as a whole process: with the daemon and without, beside a bare interpreter."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pi_rank
from benchmarks.tables import table
from pi_rank.daemon import process
from pi_rank.daemon.client import socket_path

PACKAGE = Path(pi_rank.__file__).parent
LAUNCH = ["-I", "-S", str(PACKAGE / "launch.py")]
PROMPT = "Can I deploy orchard to production this Friday, and what do I run first?"
EVENT = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": "/home/mina/work/orchard-api"}
SLOW = ["--deadline-ms", "60000"]


class Way(NamedTuple):
    """A command to time, and the most that it may take, in times the bare interpreter."""

    name: str
    words: list[str]
    goal: float | None = None


WAYS = [
    Way("python -I -S -c pass", ["-I", "-S", "-c", "pass"]),
    Way("hook, with the daemon", [*LAUNCH, "hook", "claude-code", *SLOW], 3.0),
    Way("context, with the daemon", [*LAUNCH, "context", PROMPT], 3.0),
    Way("context by words, no daemon", [*LAUNCH, "context", PROMPT, "--no-daemon", "--model", "none"], 12.0),
    Way("context, no daemon", [*LAUNCH, "context", PROMPT, "--no-daemon"], 25.0),
    Way("hook, no daemon", [*LAUNCH, "hook", "claude-code", "--no-daemon", *SLOW], 25.0),
]


class Took(NamedTuple):
    """Milliseconds of wall time, best and median, and of this process's own processor time, best."""

    best: float
    median: float
    cpu: float


def main(argv: list[str]) -> int:
    """Time the ways in turn, so that what else the machine does meets each, and print their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks hook", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="times that each is started (%(default)s)")
    parser.add_argument("--check", action="store_true", help="exit code 1 where one misses its goal")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="pi") as home:
        took = _measured(Path(home), options.rounds)
    bare = took[WAYS[0].name]
    rows, missed = [], False
    for way in WAYS:
        found = took[way.name]
        ratio, cpu = found.best / bare.best, found.cpu / bare.cpu
        missed |= way.goal is not None and ratio > way.goal
        goal = f"{way.goal:.0f}" if way.goal else ""
        times = [f"{found.best:.1f}", f"{found.median:.1f}", f"{found.cpu:.1f}"]
        rows.append([way.name, *times, f"{ratio:.1f}", f"{cpu:.1f}", goal])
    print(table(["whole process", "best ms", "median ms", "CPU ms", "x bare", "x bare, CPU", "goal"], rows))
    return int(missed and options.check)


def _measured(home: Path, rounds: int) -> dict[str, Took]:
    shutil.copytree(PACKAGE / "sample", home / "memory")
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PI_MEMORY_ROOT": str(home / "memory")}
    _run(environment, [*LAUNCH, "sync"])
    _run(environment, [*LAUNCH, "daemon", "start", "--folder", str(home)])
    try:
        for _ in range(3):
            for way in WAYS:
                _run(environment, way.words)
        times: dict[str, list[tuple[float, float]]] = {way.name: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                times[way.name].append(_run(environment, way.words))
    finally:
        process.stop(Path(socket_path(environment) or ""))
    return {name: _summed(found) for name, found in times.items()}


def _summed(found: list[tuple[float, float]]) -> Took:
    walls, cpus = zip(*found, strict=True)
    return Took(min(walls), statistics.median(walls), min(cpus))


def _run(environment: dict[str, str], words: list[str]) -> tuple[float, float]:
    """(wall time, processor time) of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words],
        input=json.dumps(EVENT).encode(),
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
    )
    wall = (time.perf_counter() - began) * 1000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout or words[-1] == "pass", words
    return wall, (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000
