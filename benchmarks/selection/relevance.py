"""Fits the constants by which a record's relevance is told, and shows how far it is what it says.

A collection is judged by constants that were fitted without it. What is written into a model's card are the
constants fitted on all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from platformdirs import user_cache_path

from benchmarks.plot import figure, shares
from benchmarks.retrieval.beir import read_collections
from benchmarks.retrieval.cached_embedder import CachedEmbedder
from benchmarks.retrieval.corpora import KnownDocuments
from benchmarks.retrieval.rules import Question, load_memory
from benchmarks.selection.prompts import parts
from benchmarks.tables import table
from pi_rank.embedding import load_embedder
from pi_rank.embedding.cards import Calibration
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.turn.ranking import Near
from pi_rank.turn.relevance import COVERAGE, likely

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from benchmarks.selection.prompts import Folders
    from pi_rank.embedding import Embedder

    Floats = NDArray[np.float64]

PLACES = 12
LEAST = 0.02  # evidence below this counts as this, as in ext/relevance.pyx
# What a prompt of each kind counts in the fit, all of a folder and size together: one in nine has nothing to
# do with the memory, so that the constants know such prompts. One whose answers are missing looks like one
# that has them (docs/ranking.md), so it is shown and not fitted.
WEIGHTS = {"answered": 1.0, "joined": 0.2, "foreign": 0.15}
BINS = (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
RIDGE = 1e-3
SCRIPTS = ("LATIN",)


class Sample(NamedTuple):
    """A prompt's first PLACES rows: what they have of it, and which of them belong (float64[m], 1 or 0).

    `wanted`: how many records of the memory belong.
    """

    folder: str
    size: int
    kind: str
    near: Near
    belongs: Floats
    wanted: int
    missing: int = 0

    @property
    def features(self) -> Floats:
        """float64[m, 3]: what the constants of a Calibration are multiplied with."""
        words = COVERAGE * self.near.words / (self.near.words + 1)
        logs = np.log(np.maximum(self.near.cosines + words * self.near.coverage, LEAST))
        return np.stack([np.ones_like(logs), logs, logs - logs.max()], axis=1)


def main(argv: list[str]) -> int:
    """Prints the constants and how reliable they are, as Markdown; writes both beside the other results."""
    options = _parser().parse_args(argv)
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(load_embedder(options.model), options.cache)
    folders = {folder.name: read_collections(folder) for folder in options.folders}
    if len(folders) < 2:
        sys.exit("to hold one folder out, name two at least, of different names")
    report = measured(samples(folders, embedder, options.cache), embedder.model_id)
    embedder.save()
    if options.results is not None:
        (options.results / "relevance.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
        (options.results / "relevance.svg").write_text(drawn(report), "utf-8")
    print(markdown(report))
    return 0


def samples(folders: Folders, embedder: Embedder, cache: Path) -> list[Sample]:
    """Each prompt of `parts` with what the product finds for it."""
    wholes = [load_memory(one, embedder, cache) for found in folders.values() for one in found]
    known, analyzer = KnownDocuments(embedder, wholes), FtsAnalyzer()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts(folders):
            snapshot = load_memory(part.collection, known, Path(folder)).snapshot
            for prompt in part.prompts:
                asked = Question(snapshot, analyzer, prompt.text, embedder.embed_query(prompt.text))
                ranking = asked.ranked(asked.text, asked.vector)
                if ranking.near is None:
                    continue
                ids = [snapshot.ids[row] for row in ranking.rows[:PLACES].tolist()]
                belongs = np.array([name in prompt.relevant for name in ids], np.float64)
                cosines, coverage, words = ranking.near
                near = Near(cosines[:PLACES], coverage[:PLACES], words)
                found.append(Sample(part.folder, part.size, prompt.kind, near, belongs, len(prompt.relevant)))
    return found


def fitted(found: Iterable[Sample], threshold: float = 0.0) -> Calibration:
    """The constants of greatest likelihood over the samples, each kind, size and folder by its weight."""
    chosen = [sample for sample in found if sample.kind in WEIGHTS]
    counts = Counter((sample.folder, sample.size, sample.kind) for sample in chosen)
    weights = np.concatenate(
        [
            np.full(
                len(one.belongs),
                WEIGHTS[one.kind] / counts[one.folder, one.size, one.kind] / len(one.belongs),
            )
            for one in chosen
        ]
    )
    features = np.concatenate([sample.features for sample in chosen])
    intercept, own, best = logistic(features, np.concatenate([s.belongs for s in chosen]), weights)
    return Calibration(intercept=intercept, evidence=own, best=best, threshold=threshold, scripts=SCRIPTS)


def logistic(features: Floats, labels: Floats, weights: Floats) -> list[float]:
    """Weighted logistic regression by Newton's method, with a ridge that only keeps it finite: float[k].

    :param features: float64[n, k], the first column all ones.
    """
    weights = weights / weights.mean()
    constants = np.zeros(features.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(features @ constants)))
        slope = features.T @ (weights * (labels - likely)) - RIDGE * constants
        curve = (features * (weights * likely * (1 - likely))[:, None]).T @ features
        step = np.linalg.solve(curve + RIDGE * np.eye(len(constants)), slope)
        constants += step
        if np.abs(step).max() < 1e-9:
            break
    return [float(one) for one in constants]


def held_out(found: Sequence[Sample]) -> dict[str, Calibration]:
    """Folder → the constants fitted on all others."""
    names = dict.fromkeys(sample.folder for sample in found)
    return {name: fitted(sample for sample in found if sample.folder != name) for name in names}


def measured(found: Sequence[Sample], model: str) -> dict[str, Any]:
    """Constants and reliability, JSON-ready."""
    constants = held_out(found)
    told = [
        (sample, likely(sample.near, None, constants[sample.folder], least=0).relevance)
        for sample in found
        if sample.kind in WEIGHTS
    ]
    reliable = {
        name: reliability([pair for pair in told if name in ("all", pair[0].folder)])
        for name in (*constants, "all")
    }
    return {
        "model": model,
        "prompts": len(found),
        "constants": {name: _constants(one) for name, one in {**constants, "all": fitted(found)}.items()},
        "reliability": reliable,
    }


def _constants(calibration: Calibration) -> dict[str, float]:
    return {name: round(getattr(calibration, name), 3) for name in ("intercept", "evidence", "best")}


def reliability(told: Iterable[tuple[Sample, Floats]]) -> list[dict[str, float]]:
    """By bin of relevance: records, mean relevance, and the share that does belong."""
    pairs = list(told)
    said = np.concatenate([one for _, one in pairs])
    true = np.concatenate([sample.belongs for sample, _ in pairs])
    weights = np.concatenate([np.full(len(one), WEIGHTS[sample.kind]) for sample, one in pairs])
    found = []
    for low, high in pairwise(BINS):
        inside = (said >= low) & (said < high)
        if inside.any():
            own = weights[inside]
            found.append(
                {
                    "records": int(inside.sum()),
                    "said": round(float(np.average(said[inside], weights=own)), 4),
                    "true": round(float(np.average(true[inside], weights=own)), 4),
                }
            )
    return found


def drawn(report: dict[str, Any]) -> str:
    """The reliability plot: the share that belongs over the relevance that was said, a line a folder."""
    series = {
        name: [(each["said"], each["true"]) for each in bins] for name, bins in report["reliability"].items()
    }
    return figure([shares("records that belong, by relevance", series, "relevance, of held-out constants")])


def markdown(report: dict[str, Any]) -> str:
    """The report as two tables."""
    names = ("intercept", "evidence", "best")
    constants = [
        [f"all but {folder}" if folder != "all" else "all", *(f"{one[name]:.3f}" for name in names)]
        for folder, one in report["constants"].items()
    ]
    rows = [
        [folder, f"{each['records']:,}", f"{each['said']:.3f}", f"{each['true']:.3f}"]
        for folder, bins in report["reliability"].items()
        for each in bins
    ]
    return "\n".join(
        [
            f"Model: {report['model']}; {report['prompts']:,} prompts.\n",
            table(["fitted on", *names], constants),
            table(["held out", "records", "relevance said", "share that belongs"], rows),
        ]
    ).rstrip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks relevance", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder in BEIR layout")
    parser.add_argument("--model", default="default", help="an embedding model (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=user_cache_path("pi-rank") / "quality", metavar="FOLDER"
    )
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="where relevance.json and .svg go")
    return parser
