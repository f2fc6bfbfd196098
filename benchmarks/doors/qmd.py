"""The qmd command: whole processes cold and warm, indexing and embedding, beside @tobilu/qmd."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables import table
from pi_rank.qmd.commands import shim

SEED = 20260630
WORDS = (
    "deploy", "rollback", "cache", "worker", "database", "schema", "review", "invoice", "remote", "token",
    "index", "branch", "release", "migrate", "monitor", "pipeline", "session", "cluster", "queue", "vector",
    "customer", "validate", "render", "rotate", "archive", "stale", "fresh", "typed",
)  # fmt: skip
QUERY = "how do I deploy the stale database to the remote cluster"
COLD_MS, WARM_MS, PI_MS = 150.0, 60.0, 800.0  # what contracts with callers ask of a whole process
EPILOG = """\
--peer names the command that runs @tobilu/qmd, such as "npx qmd"; without it, pi_rank stands alone. Only its
BM25 search is measured: its embedding downloads a model. Wall time is the best and the median of the rounds;
CPU time is the best: on a machine that others use, compare CPU times and ratios.
"""


class Cost(NamedTuple):
    """What a whole process took, in milliseconds."""

    best: float
    median: float
    cpu: float


class World:
    """A home folder with notes, and environment variables that keep everything in it."""

    def __init__(self, home: Path, files: int) -> None:
        self.home = home
        self.notes = home / "notes"
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PI_RANK_CACHE_DIR": str(home / "stores"),
        }
        write_notes(self.notes, files)
        self.shim = home / "qmd"
        self.shim.write_text(shim.program(sys.executable), encoding="utf-8")
        self.shim.chmod(0o755)

    def run(self, argv: Sequence[str]) -> str:
        """A command's stdout; the benchmark ends where it fails."""
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{shlex.join(argv)} failed: {done.stderr}")
        return done.stdout

    def cost(self, argv: Sequence[str], rounds: int) -> Cost:
        """What the command takes, of several rounds after one that warms the disk's cache."""
        self.run(argv)
        walls, cpus = [], []
        for _ in range(rounds):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            self.run(argv)
            walls.append(time.perf_counter() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return Cost(min(walls) * 1e3, statistics.median(walls) * 1e3, min(cpus) * 1e3)

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """With a daemon that has loaded its model."""
        self.run([str(self.shim), "daemon", "start"])
        try:
            while '"mode": "semantic"' not in self.run(
                [str(self.shim), "vsearch", "--json", "--explain", QUERY]
            ):
                time.sleep(0.2)
            yield
        finally:
            self.run([str(self.shim), "daemon", "stop"])


def write_notes(folder: Path, count: int) -> None:
    """Markdown files of one chunk each, the same for the same seed."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        lines = [
            f"- {' '.join(rng.choice(WORDS, int(rng.integers(8, 18))))}." for _ in range(rng.integers(3, 10))
        ]
        title = " ".join(rng.choice(WORDS, 3))
        path = folder / f"d{number % 20:02}" / f"note-{number:04}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}: {title}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def main(argv: list[str]) -> int:
    """Measures and prints Markdown tables, or JSON."""
    options = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="qmd") as home:
        report = measure(World(Path(home), options.files), options.rounds, shlex.split(options.peer or ""))
    print(json.dumps(report, indent=2) if options.json else markdown(report))
    return 0


def measure(world: World, rounds: int, peer: list[str]) -> dict[str, Any]:
    """Process costs by name, throughputs, and the import times of a cold search."""
    qmd = str(world.shim)
    seconds = {"indexing": _timed(world, [qmd, "collection", "add", str(world.notes), "--name", "notes"])}
    seconds["embedding"] = _timed(world, [qmd, "embed"])
    seconds["update without a change"] = _timed(world, [qmd, "update"])
    search = [qmd, "search", "--json", "-c", "notes", "-n", "12", "deploy stale database"]
    vsearch = [qmd, "vsearch", "--json", "-c", "notes", "-n", "12", QUERY]
    costs = {
        "python -c pass": world.cost([sys.executable, "-c", "pass"], rounds),
        "python -I -S -c pass": world.cost([sys.executable, "-I", "-S", "-c", "pass"], rounds),
        "python -c 'import numpy'": world.cost([sys.executable, "-c", "import numpy"], rounds),
        "qmd search, cold": world.cost(search, rounds),
        "qmd vsearch, cold (by words)": world.cost(vsearch, rounds),
    }
    with world.daemon():
        costs["qmd search, daemon"] = world.cost(search, rounds)
        costs["qmd vsearch, daemon (by meaning)"] = world.cost(vsearch, rounds)
        with busy_cores():
            costs["qmd vsearch, daemon, all cores busy"] = world.cost(vsearch, rounds)
    with busy_cores():
        costs["qmd vsearch, cold, all cores busy"] = world.cost(vsearch, rounds)
    if peer:
        seconds["@tobilu/qmd indexing"] = _timed(
            world, [*peer, "collection", "add", str(world.notes), "--name", "n"]
        )
        theirs = [*peer, "search", "--json", "-c", "n", "-n", "12", "deploy stale database"]
        costs["@tobilu/qmd search"] = world.cost(theirs, rounds)
    return {
        "files": sum(1 for _ in world.notes.rglob("*.md")),
        "costs": {name: cost._asdict() for name, cost in costs.items()},
        "seconds": seconds,
        "imports_ms": imports(world, vsearch[1:]),
    }


def imports(world: World, argv: Sequence[str]) -> dict[str, float]:
    """Milliseconds of the ten slowest own imports of a cold search, and of all imports together."""
    script = world.home / "shim.py"
    script.write_text(shim.program(sys.executable).partition("\n")[2], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(script), *argv],
        env=world.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "|" in line]
    own = {row[2].strip(): int(row[0]) / 1000 for row in rows if row[0].strip().isdigit()}
    slowest = sorted(own.items(), key=lambda item: -item[1])[:10]
    return {"all": round(sum(own.values()), 2), **{name: round(ms, 2) for name, ms in slowest}}


@contextmanager
def busy_cores() -> Iterator[None]:
    """Every core at work for somebody else."""
    workers = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def _timed(world: World, argv: Sequence[str]) -> float:
    started = time.perf_counter()
    world.run(argv)
    return time.perf_counter() - started


def markdown(report: dict[str, Any]) -> str:
    """The report's tables."""
    costs = {name: Cost(**cost) for name, cost in report["costs"].items()}
    floor = costs["python -I -S -c pass"]
    rows = [
        [name, f"{cost.best:.0f}", f"{cost.median:.0f}", f"{cost.cpu:.0f}", f"{cost.cpu / floor.cpu:.1f}"]
        for name, cost in costs.items()
    ]
    heads = ["whole process", "best ms", "median ms", "CPU ms", "CPU ÷ `-I -S` floor"]
    files = report["files"]
    speeds = [[name, f"{s:.2f}", f"{files / s:,.0f}"] for name, s in report["seconds"].items()]
    slow = [[f"`{name}`", f"{ms:.1f}"] for name, ms in report["imports_ms"].items()]
    return "\n".join(
        [
            f"{files:,} Markdown files. Asked of a whole process: cold {COLD_MS:.0f} ms, with the daemon "
            f"{WARM_MS:.0f} ms; PI's deadline is {PI_MS:.0f} ms.\n",
            table(heads, rows),
            table([f"{files:,} files", "seconds", "files a second"], speeds),
            table(["imports of a cold vsearch", "ms"], slow),
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks qmd", description=__doc__, epilog=EPILOG)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--files", type=int, default=1000, help="how many files (%(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="runs of each command (%(default)s)")
    parser.add_argument("--peer", metavar="COMMAND", help="the command that runs @tobilu/qmd")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
