"""What does each installed dependency weigh: megabytes, files, time to import, and who asks for it?"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pi_rank
from benchmarks.machine import description
from benchmarks.tables import table
from pi_rank.embedding.registry import cards_folder

OWN = "pi-rank"
STARTS = 3  # processes that import a package; the fastest counts
DEMO = """\
import contextlib, io, json, sys
from pi_rank.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(["demo"])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""
IMPORT = """\
import os, sys, time
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
start = time.process_time()
__import__(sys.argv[1])
print((time.process_time() - start) * 1e3)
"""


class Package(NamedTuple):
    """One installed distribution. `import_ms` is with all that it imports, None where it has no module."""

    name: str
    version: str
    bytes: int
    files: int
    import_ms: float | None
    loaded: bool
    required_by: list[str]


def main(argv: list[str]) -> int:
    """Prints both tables, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks weight", description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="count what these extras bring too")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.extras) - set(metadata.metadata(OWN).get_all("Provides-Extra") or ())
    if unknown:
        parser.error(f"pi-rank has no extra {', '.join(sorted(unknown))}")
    try:
        asked = requirers(arguments.extras)
    except metadata.PackageNotFoundError as error:
        wanted = f"{OWN}[{','.join(arguments.extras)}]"
        parser.error(f"{error.name} is not installed; first: pip install '{wanted}'")
    loaded = set(json.loads(_python(DEMO)))
    packages = [weigh(name, by, loaded) for name, by in asked.items()]
    packages.sort(key=lambda package: (-package.bytes, package.name))
    if arguments.json:
        print(json.dumps({"packages": [p._asdict() for p in packages], "own": own_parts()}, indent=2))
    else:
        print(markdown(packages, own_parts(), arguments.extras))
    return 0


def requirers(extras: Iterable[str]) -> dict[str, set[str]]:
    """Every distribution that pi-rank with these extras needs here, and which others name it."""
    found: dict[str, set[str]] = defaultdict(set)
    waiting = [(OWN, frozenset(extras))]
    seen = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            environments = [{"extra": extra} for extra in wanted or {""}]
            if requirement.marker and not any(map(requirement.marker.evaluate, environments)):
                continue
            needed = canonicalize_name(requirement.name)
            waiting.append((needed, frozenset(requirement.extras)))
            if needed != OWN:
                found[needed].add(name)
    return found


def weigh(name: str, required_by: set[str], loaded: set[str]) -> Package:
    """What one distribution weighs, by the files that its installer has listed."""
    distribution = metadata.distribution(name)
    paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    modules = modules_of(name)
    return Package(
        name,
        distribution.version,
        sum(sizes),
        len(sizes),
        import_ms(modules[0]) if modules else None,
        bool(loaded & set(modules)),
        sorted(required_by),
    )


def modules_of(name: str) -> list[str]:
    """Its top-level modules, the one of its own name first, those that are private last."""
    own = name.replace("-", "_")
    named = [
        module
        for module, owners in metadata.packages_distributions().items()
        if name in map(canonicalize_name, owners) and module.isidentifier()
    ]
    return sorted(named, key=lambda module: (module.lower() != own, module.startswith("_"), module))


def import_ms(module: str) -> float | None:
    """CPU milliseconds to import it in a fresh process, all that it imports included."""
    try:
        return min(float(_python(IMPORT, module)) for _ in range(STARTS))
    except subprocess.CalledProcessError:  # it needs another system, or a package that is optional to it
        return None


def own_parts() -> dict[str, int]:
    """Bytes of pi_rank itself, by part."""
    package, cards = Path(pi_rank.__file__).parent, cards_folder()
    parts = {f"model {path.stem}": _bytes(path.with_suffix("")) for path in sorted(cards.glob("*.toml"))}
    parts["compiled core"] = sum(map(_bytes, (package / "_core").glob("*.so")))
    parts["compiled core"] += sum(map(_bytes, (package / "_core").glob("*.pyd")))
    parts["sample memory"] = _bytes(package / "sample")
    whole = _bytes(package) + (0 if cards.parent == package else _bytes(cards))
    return parts | {"Python": whole - sum(parts.values())}


def markdown(packages: list[Package], own: dict[str, int], extras: list[str]) -> str:
    """Both tables, with their sums."""
    rows = [
        [
            f"{package.name} {package.version}",
            _megabytes(package.bytes),
            f"{package.files:,}",
            "" if package.import_ms is None else f"{package.import_ms:.0f}",
            "yes" if package.loaded else "no",
            ", ".join(package.required_by),
        ]
        for package in packages
    ]
    size, files = sum(package.bytes for package in packages), sum(package.files for package in packages)
    rows.append([f"all {len(packages)}", _megabytes(size), f"{files:,}", "", "", ""])
    parts = [[name, _megabytes(part)] for name, part in own.items()]
    parts.append(["all", _megabytes(sum(own.values()))])
    facts = description()
    return "\n".join(
        [
            "# What an installation weighs",
            "",
            f"`{' '.join(['python -m benchmarks weight', *extras])}`",
            "",
            f"{facts['system']}, Python {facts['Python']}. Files are what pip has laid down, compiled Python",
            "included; an import is with all that it imports; a package is loaded by a turn where `pi-rank",
            "demo` has imported it by its end, with output to a pipe.",
            "",
            f"{_megabytes(size + sum(own.values()))} MB together.",
            "",
            table(["dependency", "MB", "files", "import, CPU ms", "loaded by a turn", "required by"], rows),
            table(["pi_rank itself", "MB"], parts),
        ]
    )


def _python(code: str, *arguments: str) -> str:
    """What a fresh process of this Python prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f}"
