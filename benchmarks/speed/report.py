"""Runs the timings and writes them as Markdown tables, a plot and the raw results."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.machine import description
from benchmarks.plot import bars, figure, lines
from benchmarks.tables import (
    batch_table,
    gates_table,
    measures_table,
    of,
    peers_table,
    recall_table,
    turn_table,
)

RESULTS = Path(__file__).parents[1] / "results"
COMMAND = "python -m benchmarks report"
WORDS = 12

TURN = (
    "p50 / p99 over 60 prompts of each prompt's best timing; last column: of all timings, with what other "
    "programs did meanwhile.\n\n"
)
BM25 = "Medians. bm25s is given stems, the others text; `reference` is plain Python.\n\n"
VECTORS = (
    "384 dimensions. pi_rank is the exact scan, numpy gathers what is eligible. hnswlib (ef_search 100) and "
    "pi_rank hnsw (its graph walked over int8 codes, ef_search 300, then rescored) are approximate; "
    "`reference` is plain Python over 200 rows.\n\n"
)
SCOPE = "The number is of phrases; all tokenise with the same routine.\n\n"
START = "A new process, lexical ranking only, best of three.\n\n"
SYNC = "With vectors of an embedder without a model, whose time is in the first sync.\n\n"


def main(argv: list[str]) -> int:
    """Writes report.md, latency.svg and results.json; 1 where a gate is missed or a benchmark fails."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="up to 10,000 records, about two minutes; else 100,000"
    )
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="folder to write to (benchmarks/results)"
    )
    parser.add_argument(
        "--render", action="store_true", help="measure nothing: render its results.json again"
    )
    chosen = parser.parse_args(argv)
    chosen.output.mkdir(parents=True, exist_ok=True)
    code = 0 if chosen.render else _measure(chosen.output / "results.json", quick=chosen.quick)
    _write(chosen.output)
    print(f"wrote {chosen.output / 'report.md'}")
    return code


def _measure(path: Path, *, quick: bool) -> int:
    facts = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": f"{COMMAND} --quick" if quick else COMMAND,
        "machine": description(),
    }
    raw = path.with_suffix(".part")
    command = [sys.executable, "-m", "pytest", str(Path(__file__).parent), "--quiet", "--results", str(raw)]
    code = subprocess.run(command if quick else [*command, "--full"], check=False).returncode
    results = json.loads(raw.read_text(encoding="utf-8"))
    raw.unlink()
    path.write_text(json.dumps({**facts, "results": results}, indent=1) + "\n", encoding="utf-8")
    return code


def _write(folder: Path) -> None:
    measured = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (folder / "report.md").write_text(markdown(measured), encoding="utf-8")
    (folder / "latency.svg").write_text(plot(measured["results"]), encoding="utf-8")


def markdown(measured: dict[str, Any]) -> str:
    """The report."""
    results = measured["results"]
    machine = "".join(f"- {name}: {value}\n" for name, value in measured["machine"].items())
    sections = {
        "The whole turn, vector given": TURN + turn_table(results),
        "Best 100 by BM25": BM25 + peers_table(results, "bm25", ("size", "words")),
        "100 nearest vectors": VECTORS
        + peers_table(results, "vectors", ("size", "share"))
        + "\n"
        + recall_table(results),
        "Negative scope, 500 words": SCOPE + peers_table(results, "scope", ("size",)),
        "Fusion": peers_table(results, "fusion", ()),
        "Batch": batch_table(results),
        "Start": START + measures_table(results, "start"),
        "Sync and refresh": SYNC + measures_table(results, "sync"),
        "Gates": gates_table(results),
    }
    body = "".join(f"\n## {title}\n\n{text}" for title, text in sections.items())
    head = f"# Measured {measured['date']}\n\n`{measured['command']}`\n\n{machine}"
    return f"{head}\n![latency against records, and peers side by side](latency.svg)\n{body}"


def plot(results: list[dict[str, Any]]) -> str:
    """The turn against records, BM25's peers against records, and the other routines beside theirs."""
    turns = [turn for turn in of(results, "turn") if turn["share"] == 1.0]
    longest = max(turn["words"] for turn in turns)
    whole = {
        f"{words} words": _against_size(turns, "p50", words=words)
        for words in sorted({turn["words"] for turn in turns})
    }
    whole[f"{longest} words p99"] = _against_size(turns, "p99", words=longest)
    searches = [search for search in of(results, "bm25") if search["library"] != "reference"]
    bm25 = {
        library: _against_size(searches, "p50", words=WORDS, library=library)
        for library in dict.fromkeys(search["library"] for search in searches)
    }
    return figure(
        [
            lines("Whole turn, all records eligible", whole, "records"),
            lines(f"Best 100 by BM25, {WORDS} words", bm25, "records"),
            bars("Peers side by side", _groups(results)),
        ]
    )


def _against_size(results: list[dict[str, Any]], measure: str, **case: object) -> list[tuple[float, float]]:
    """(records, measure) of the results of a case."""
    return sorted((found["size"], found[measure]) for found in results if case.items() <= found.items())


def _groups(results: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    largest = max(result["size"] for result in of(results, "scope"))
    names = {
        "fusion": "fusion of two lists of 100",
        "scope": f"negative scope, {largest:,} phrases, 500 words",
        "vectors": f"100 nearest of {largest:,} vectors (pi_rank: exact scan)",
    }
    return {
        name: {
            result["library"]: result["p50"]
            for result in of(results, question)
            if result.get("size", largest) == largest
            and result.get("share", 1.0) == 1.0
            and "note" not in result
        }
        for question, name in names.items()
    }
