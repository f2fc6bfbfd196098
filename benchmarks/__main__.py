"""`python -m benchmarks <name> …` runs one benchmark; each is a module here with `main(argv) -> int`."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def commands() -> dict[str, str]:
    """The modules that have a `main`, and what each says of itself. Read, not imported: some need extras."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions and not path.stem.startswith("_"):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(argv: list[str]) -> int:
    """Hands the rest of the command line to the named benchmark."""
    known = commands()
    lines = "\n".join(f"  {name:<12} {says}" for name, says in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures pi_rank. `python -m pytest benchmarks` runs the timings one by one.",
        epilog=f"benchmarks:\n{lines}\n\n`python -m benchmarks NAME --help` says what each takes.",
    )
    parser.add_argument("name", choices=known, metavar="NAME", help="one of the benchmarks below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the benchmark's own options")
    chosen = parser.parse_args(argv)
    code: int = import_module(f"benchmarks.{chosen.name}").main(chosen.arguments)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
