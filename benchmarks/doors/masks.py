"""False alarms of the masks of credentials on collections of ordinary text, and what looking costs."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pi_rank
from benchmarks.tables import table
from pi_rank.injection.secrets import find_secrets

SAMPLE = Path(pi_rank.__file__).parent / "sample"
SHOWN = 60  # characters around an alarm


def main(argv: list[str]) -> int:
    """Counts the texts in which the masks see a credential, collection by collection."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks masks", description=__doc__)
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="DIR", help="folders of .jsonl and .json (PI_RANK_SHARED)"
    )
    parser.add_argument("--show", action="store_true", help="also print each text that raised an alarm")
    arguments = parser.parse_args(argv)
    rows = [_row(folder, show=arguments.show) for folder in [SAMPLE, *(arguments.folders or _collections())]]
    print(table(["collection", "texts", "characters", "alarms", "kinds", "µs a 1,000 characters"], rows))
    return 0


def _collections() -> list[Path]:
    shared = os.environ.get("PI_RANK_SHARED")
    return sorted(path for path in Path(shared, "data").iterdir() if path.is_dir()) if shared else []


def _row(folder: Path, *, show: bool) -> list[str]:
    texts = list(_texts(folder))
    start = time.process_time()
    alarms = [(text, kinds) for text in texts if (kinds := find_secrets(text))]
    seconds = time.process_time() - start
    for text, kinds in alarms if show else ():
        print(f"{', '.join(kinds)}: {' '.join(text.split())[:SHOWN]}")
    kinds = Counter(kind for _, found in alarms for kind in found)
    characters = sum(map(len, texts))
    named = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"
    cost = f"{seconds / max(characters, 1) * 1e9:.0f}"
    return [folder.name, f"{len(texts):,}", f"{characters:,}", str(len(alarms)), named, cost]


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.json")]):
        data = path.read_text(encoding="utf-8")
        for line in data.splitlines() if path.suffix == ".jsonl" else [data]:
            if line.strip():
                yield from _strings(json.loads(line))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
