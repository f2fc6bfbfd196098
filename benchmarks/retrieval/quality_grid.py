"""Whether the default ranking's constants hold on collections and corpus sizes that did not choose them."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from platformdirs import user_cache_path

from benchmarks.retrieval.beir import read_collections
from benchmarks.retrieval.cached_embedder import CachedEmbedder
from benchmarks.retrieval.corpora import KnownDocuments, asked, merged, part
from benchmarks.retrieval.rules import NDCG, RANKINGS, SOURCES, Memory, blended, load_memory, score
from benchmarks.tables import table
from pi_rank.embedding import load_embedder
from pi_rank.ranking.blend import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.retrieval.rules import Rule
    from pi_rank.embedding import Embedder

    Folders = dict[str, list[Memory]]
    Means = dict[str, float]  # folder → mean nDCG@10 of its questions

GRID: dict[str, tuple[float, ...]] = {
    "words": (0.3, 0.4, 0.5, 0.6, 0.7),
    "centre": (0.25, 0.5, 0.75),
    "feedback": (0.25, 0.5, 0.75),
    "feedback_rows": (1, 2, 3),
}
SIZES = (20, 60, 200)  # documents of a part
PARTS = 35  # of each folder and size: five of each LoCoMo conversation


def main(argv: list[str]) -> int:
    """Prints Markdown tables for the folders, as `python -m benchmarks quality` takes them, or JSON."""
    options = _parser().parse_args(argv)
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(load_embedder(options.model), options.cache)
    folders = {
        folder.name: [load_memory(one, embedder, options.cache) for one in read_collections(folder)]
        for folder in options.folders
    }
    if len(folders) < 2:
        sys.exit("to hold one folder out, name two at least, of different names")
    rules = grid(folders, embedder)
    report = {
        "model": embedder.model_id,
        "rules": rules,
        "held_out": held_out(rules, sources(folders, embedder)),
        "corpora": corpora(folders, embedder),
    }
    embedder.save()
    print(json.dumps(report, indent=2) if options.json else markdown(report))
    return 0


def reached(folders: Folders, embedder: Embedder, rule: Rule) -> Means:
    """The mean nDCG@10 that a rule reaches in each folder."""
    return {
        name: float(score(memories, embedder, rule)[:, NDCG].mean()) for name, memories in folders.items()
    }


def grid(folders: Folders, embedder: Embedder) -> list[dict[str, Any]]:
    """Every combination of GRID: its constants, and what it reaches."""
    found = []
    for values in itertools.product(*GRID.values()):
        constants = dict(zip(GRID, values, strict=True))
        found.append({"constants": constants, "nDCG@10": reached(folders, embedder, blended(**constants))})
        print(f"{len(found)} rules measured", end="\r", file=sys.stderr)
    return found


def sources(folders: Folders, embedder: Embedder) -> dict[str, Means]:
    """What each source reaches alone."""
    return {name: reached(folders, embedder, rule) for name, rule in SOURCES.items()}


def held_out(rules: list[dict[str, Any]], alone: dict[str, Means]) -> dict[str, dict[str, Any]]:
    """Per folder: the rule that is best on the mean of the others, and what it reaches there."""
    default = next(
        rule for rule in rules if rule["constants"] == {name: getattr(DEFAULTS, name) for name in GRID}
    )
    found = {}
    for folder in rules[0]["nDCG@10"]:
        chosen = max(rules, key=lambda rule: _mean(rule["nDCG@10"], without=folder))
        best = max(alone, key=lambda source: alone[source][folder])
        found[folder] = {
            "chosen": chosen["constants"],
            "reached": chosen["nDCG@10"][folder],
            "default": default["nDCG@10"][folder],
            "best source": {"name": best, "reached": alone[best][folder]},
        }
    return found


def corpora(folders: Folders, embedder: Embedder) -> dict[str, dict[str, float]]:
    """Per corpus: what each ranking reaches, the mean of the folders."""
    known = KnownDocuments(embedder, itertools.chain(*folders.values()))
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for size in SIZES:
            parts = {name: _parts(of, size, known, Path(cache)) for name, of in folders.items()}
            found[f"parts of {size}"] = _rankings(parts, known)
        everything = merged(memory.collection for memory in itertools.chain(*folders.values()))
        whole = load_memory(everything, known, Path(cache))
        split = {name: [asked(whole, [one.collection for one in of])] for name, of in folders.items()}
        found[f"all {len(everything.corpus):,} in one corpus"] = _rankings(split, known)
    return found


def _parts(memories: list[Memory], size: int, embedder: Embedder, cache: Path) -> list[Memory]:
    turns = itertools.islice(itertools.cycle(memories), PARTS)
    return [
        load_memory(part(memory.collection, size, seed), embedder, cache) for seed, memory in enumerate(turns)
    ]


def _rankings(folders: Folders, embedder: Embedder) -> dict[str, float]:
    return {name: _mean(reached(folders, embedder, rule)) for name, rule in RANKINGS.items()}


def _mean(means: Means, without: str | None = None) -> float:
    return float(np.mean([mean for folder, mean in means.items() if folder != without]))


def markdown(report: dict[str, Any]) -> str:
    """The report as two tables, and the grid in a sentence."""
    means = [_mean(rule["nDCG@10"]) for rule in report["rules"]]
    return "\n".join(
        [
            f"Model: {report['model']}. nDCG@10.\n",
            f"Mean of the folders over {len(means)} rules ({_ranges()}): worst {min(means):.4f}, "
            f"median {np.median(means):.4f}, best {max(means):.4f}.\n",
            _held_out_table(report["held_out"]),
            table(["corpus, mean of the folders", *RANKINGS], _corpora_rows(report["corpora"])),
        ]
    ).rstrip()


def _ranges() -> str:
    return ", ".join(f"{name} {values[0]}–{values[-1]}" for name, values in GRID.items())


def _held_out_table(held: dict[str, dict[str, Any]]) -> str:
    heads = ["held out", f"chosen on the others ({', '.join(GRID)})", "there", "default", "best source"]
    rows = []
    for folder, found in held.items():
        chosen = ", ".join(str(value) for value in found["chosen"].values())
        best = f"{found['best source']['name']} {found['best source']['reached']:.4f}"
        rows.append([folder, chosen, f"{found['reached']:.4f}", f"{found['default']:.4f}", best])
    return table(heads, rows)


def _corpora_rows(found: dict[str, dict[str, float]]) -> Iterable[list[str]]:
    return [[name, *(f"{mean:.4f}" for mean in means.values())] for name, means in found.items()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality_grid", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder in BEIR layout")
    parser.add_argument("--model", default="default", help="an embedding model (%(default)s)")
    parser.add_argument(
        "--cache",
        type=Path,
        default=user_cache_path("pi-rank") / "quality",
        metavar="FOLDER",
        help="where memory roots, stores and vectors are kept (the user's cache folder)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print everything as JSON, each rule of the grid too"
    )
    return parser
