"""`python -m benchmarks NAME …` runs one benchmark: a module of a folder here with `main(argv) -> int`."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Command(NamedTuple):
    """Where a benchmark is, and what it says of itself."""

    module: str
    summary: str


def commands() -> dict[str, Command]:
    """The modules that have a `main`, and what each says of itself. Read, not imported: some need extras."""
    found = {}
    for path in sorted(FOLDER.glob("*/*.py"), key=lambda path: path.stem):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions and not path.stem.startswith("_"):
            summary = (ast.get_docstring(tree) or "").partition("\n")[0]
            found[path.stem] = Command(f"benchmarks.{path.parent.name}.{path.stem}", summary)
    return found


def main(argv: list[str]) -> int:
    """Hands the rest of the command line to the named benchmark."""
    known = commands()
    lines = "\n".join(f"  {name:<14} {command.summary}" for name, command in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures pi_rank. `python -m pytest benchmarks` runs the timings one by one.",
        epilog=f"benchmarks:\n{lines}\n\n`python -m benchmarks NAME --help` says what each takes.",
    )
    parser.add_argument("name", choices=known, metavar="NAME", help="one of the benchmarks below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the benchmark's own options")
    chosen = parser.parse_args(argv)
    code: int = import_module(known[chosen.name].module).main(chosen.arguments)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
