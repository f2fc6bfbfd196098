"""Retrieval quality of the product's own engine on BEIR-layout collections, per ranking, with intervals."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from platformdirs import user_cache_path

from benchmarks.retrieval.beir import Collection, read_collections, write_memory_root
from benchmarks.retrieval.cached_embedder import CachedEmbedder
from benchmarks.retrieval.metrics import CUT, METRICS, bootstrap, compare, evaluate
from pi_rank import MemoryEngine
from pi_rank.embedding import load_embedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pi_rank.embedding import Embedder

    Scores = dict[str, NDArray[np.float64]]  # ranking → float64[queries, METRICS]

RANKINGS = ("lexical", "semantic", "rrf", "default")
SOURCES = ("lexical", "semantic")
_JUDGED = METRICS.index("nDCG@10")  # what the best single source is best at, and what is compared

EPILOG = """\
A folder is one collection, or holds several; then each query is asked to its own corpus and the figures are
means over all queries. Vectors are kept under the cache folder: a second run embeds nothing.
"""


def main(argv: list[str]) -> int:
    """Measures each folder in turn and prints a Markdown table, or JSON."""
    options = _parser().parse_args(argv)
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(load_embedder(options.model), options.cache)
    report = {"model": embedder.model_id, "collections": {}}
    for folder in options.folders:
        scores = measure(read_collections(folder), embedder, options.ranking, options.cache)
        report["collections"][folder.name] = summary(scores)
        embedder.save()
    print(json.dumps(report, indent=2) if options.json else markdown(report))
    return 0


def measure(
    collections: list[Collection], embedder: Embedder, rankings: tuple[str, ...], cache: Path
) -> Scores:
    """Per ranking, float64[queries, METRICS] of what the engine finds, in the order of the collections."""
    found: dict[str, list[tuple[float, ...]]] = {ranking: [] for ranking in rankings}
    for collection in collections:
        for ranking in rankings:
            run = run_queries(collection, embedder, ranking, cache)
            found[ranking] += [evaluate(run[query], collection.qrels[query]) for query in run]
    return {ranking: np.array(rows) for ranking, rows in found.items()}


def run_queries(
    collection: Collection, embedder: Embedder, ranking: str, cache: Path
) -> dict[str, list[str]]:
    """Query id → ids of the first ten records that an engine on the collection finds."""
    mode: Any = ranking if ranking in SOURCES else "hybrid"
    with opened(collection, embedder, "default" if ranking in SOURCES else ranking, cache) as engine:
        return {
            query: [hit.id for hit in engine.search(text, k=CUT, mode=mode, abstain=False)]
            for query, text in collection.queries.items()
        }


@contextmanager
def opened(collection: Collection, embedder: Embedder, rule: Any, cache: Path) -> Iterator[MemoryEngine]:
    """An engine on a memory root with the collection's documents, in step with it."""
    folder = home(collection, cache)
    root = write_memory_root(collection, folder / "root")
    with MemoryEngine.open(root, store=folder / "store.sqlite3", model=embedder, ranking=rule) as engine:
        report = engine.sync(progress=_progress(collection.name))
        for skipped in report.skipped:
            print(f"{collection.name}: {skipped}", file=sys.stderr)
        yield engine


def home(collection: Collection, cache: Path) -> Path:
    """The folder of a collection's memory root and store."""
    return cache / f"{collection.name}-{collection.key}"


def summary(scores: Scores) -> dict[str, Any]:
    """Means with their intervals; the default beside the best single source, where both were measured."""
    rankings = {
        ranking: {metric: bootstrap(rows[:, i])._asdict() for i, metric in enumerate(METRICS)}
        for ranking, rows in scores.items()
    }
    found: dict[str, Any] = {"queries": len(next(iter(scores.values()))), "rankings": rankings}
    if {*SOURCES, "default"} <= scores.keys():
        best = max(SOURCES, key=lambda source: scores[source][:, _JUDGED].mean())
        comparison = compare(scores["default"][:, _JUDGED], scores[best][:, _JUDGED])
        found["default_against_best_source"] = {
            "source": best,
            "metric": METRICS[_JUDGED],
            "difference": comparison.difference._asdict(),
            "p": comparison.p,
        }
    return found


def markdown(report: dict[str, Any]) -> str:
    """The report as a table: a row for each collection and ranking, then the means, then the comparisons."""
    lines = [
        f"Model: {report['model']}. Means over queries; in brackets 95 % bootstrap intervals.\n",
        f"| collection | ranking | {' | '.join(METRICS)} |",
        f"|---|---|{'---|' * len(METRICS)}",
    ]
    collections = report["collections"]
    for name, found in collections.items():
        for ranking, metrics in found["rankings"].items():
            cells = [f"{m['mean']:.3f} [{m['low']:.3f}, {m['high']:.3f}]" for m in metrics.values()]
            lines.append(f"| {name} ({found['queries']}) | {ranking} | {' | '.join(cells)} |")
    for ranking in next(iter(collections.values()))["rankings"]:
        means = [
            np.mean([found["rankings"][ranking][metric]["mean"] for found in collections.values()])
            for metric in METRICS
        ]
        lines.append(f"| mean of {len(collections)} | {ranking} | {' | '.join(f'{m:.3f}' for m in means)} |")
    return "\n".join([*lines, "", *_comparisons(collections)])


def _comparisons(collections: dict[str, Any]) -> list[str]:
    lines = []
    for name, found in collections.items():
        if each := found.get("default_against_best_source"):
            mean, low, high = each["difference"].values()
            lines.append(
                f"- {name}: default − {each['source']} = {mean:+.3f} [{low:+.3f}, {high:+.3f}] "
                f"{each['metric']}, p = {each['p']:.4f} (paired randomisation test)"
            )
    return lines


def _progress(name: str) -> Any:
    def show(done: int, total: int) -> None:
        print(f"{name}: {done} of {total} documents embedded", file=sys.stderr)

    return show


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality", description=__doc__, epilog=EPILOG)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder in BEIR layout")
    parser.add_argument("--model", default="default", help="an embedding model (%(default)s)")
    parser.add_argument(
        "--ranking", nargs="+", choices=RANKINGS, default=RANKINGS, help="what to measure (all four)"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=user_cache_path("pi-rank") / "quality",
        metavar="FOLDER",
        help="where memory roots, stores and vectors are kept (the user's cache folder)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser
