"""How much CPU time does each compiled module take to build, here and in another checkout?"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import description
from benchmarks.tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    Build = dict[str, Any]

TREE = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("recorded_build.py")
NEEDED = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
KIB = 1024


def measured(tree: Path) -> Build:
    """What a build of the tree takes, from a copy of its sources, so that nothing of an earlier one is used.

    :raises SystemExit: the build fails; what it printed stands before.
    """
    with tempfile.TemporaryDirectory(prefix="pi-rank-build-", ignore_cleanup_errors=True) as folder:
        for name in NEEDED:
            shutil.copy(tree / name, folder)
        for name in ("ext", "pi_rank"):
            ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
            shutil.copytree(tree / name, Path(folder, name), ignore=ignored)
        environment = {name: value for name, value in os.environ.items() if name != "PI_RANK_SANITIZE"}
        built = subprocess.run(
            [sys.executable, PROGRAM],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if built.returncode:
        raise SystemExit(f"{built.stderr}\nthe build of {tree} failed")
    result: Build = json.loads(built.stdout)
    return result


def best(builds: Sequence[Build]) -> Build:
    """The least time of each step; the sizes are the same in all."""
    seconds = {
        name: {step: min(build["seconds"][name][step] for build in builds) for step in steps}
        for name, steps in builds[0]["seconds"].items()
    }
    return {**builds[0], "seconds": seconds, "whole": min(build["whole"] for build in builds)}


def modules_table(build: Build) -> str:
    """A row per module, the slowest first, and the whole."""
    seconds, sizes = build["seconds"], build["bytes"]
    rows = [
        [
            name,
            f"{steps['generate']:.2f}",
            f"{steps['compile']:.2f}",
            f"{sizes[name]['cpp'] / KIB:,.0f}",
            f"{sizes[name]['module'] / KIB:,.0f}",
        ]
        for name, steps in sorted(seconds.items(), key=lambda item: -sum(item[1].values()))
    ]
    rows.append(
        [
            "all, setup.py included",
            f"{build['whole'] - _sum(seconds, 'compile'):.2f}",
            f"{_sum(seconds, 'compile'):.2f}",
            f"{_sum(sizes, 'cpp') / KIB:,.0f}",
            f"{_sum(sizes, 'module') / KIB:,.0f}",
        ]
    )
    heads = ["module", "generate C++, s", "compile and link, s", "C++, KiB", "module, KiB"]
    return f"{table(heads, rows)}\n{build['whole']:.1f} s of CPU in all.\n"


def _sum(rows: dict[str, dict[str, float]], key: str) -> float:
    return sum(row[key] for row in rows.values())


def comparison(before: Sequence[Build], now: Sequence[Build]) -> str:
    """The ratio of the whole, and of the modules that both have, round by round."""
    pairs = list(zip(before, now, strict=True))
    common = before[0]["seconds"].keys() & now[0]["seconds"].keys()
    whole = [new["whole"] / old["whole"] for old, new in pairs]
    shared = [_of(new, common) / _of(old, common) for old, new in pairs]
    return (
        f"This tree over the other, from round to round: the whole {min(whole):.2f} to {max(whole):.2f}, "
        f"the modules that both have ({len(common)}) {min(shared):.2f} to {max(shared):.2f}.\n"
    )


def _of(build: Build, names: set[str]) -> float:
    return sum(sum(build["seconds"][name].values()) for name in names)


def main(argv: list[str]) -> int:
    """Prints the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks build_time", description=__doc__)
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="another checkout, built alternately with this one"
    )
    parser.add_argument("--runs", type=int, default=2, help="builds of each, the best counts (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print every build's figures as JSON")
    chosen = parser.parse_args(argv)
    if os.name == "nt":
        parser.error("Windows does not say how much CPU time a compiler took")
    if chosen.runs < 1:
        parser.error("--runs must be 1 or more")
    trees = {"before": chosen.against, "now": TREE} if chosen.against else {"now": TREE}
    builds: dict[str, list[Build]] = {name: [] for name in trees}
    for _ in range(chosen.runs):
        for name, tree in trees.items():
            builds[name].append(measured(tree.resolve()))
    if chosen.json:
        print(json.dumps({"machine": description(), **builds}, indent=1))
        return 0
    facts = description()
    print(f"{facts['processor']}; {facts['system']}; load before {facts['load before']}.")
    print(f"The best of {chosen.runs}.\n")
    for name, runs in builds.items():
        print(f"## {name.capitalize()}\n\n{modules_table(best(runs))}")
    if chosen.against:
        print(comparison(builds["before"], builds["now"]), end="")
    return 0
