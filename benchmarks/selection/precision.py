"""How much of what turns select belongs: on small memories, on PrecisionMemBench, on judged prompts.

Small memories are judged by constants that were fitted without their collection; the rest by the card's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from platformdirs import user_cache_path

import pi_rank
from benchmarks.retrieval.beir import read_collections
from benchmarks.retrieval.cached_embedder import CachedEmbedder
from benchmarks.retrieval.metrics import bootstrap
from benchmarks.selection import duplicates
from benchmarks.selection.precisionmembench import answers, scored
from benchmarks.selection.relevance import PLACES, Sample, held_out, samples
from benchmarks.tables import table
from pi_rank import MemoryEngine, SessionContext
from pi_rank.embedding import load_embedder
from pi_rank.turn.relevance import likely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pi_rank.embedding import Embedder
    from pi_rank.embedding.cards import Calibration

FIXTURES = "beliefs.seed.json"
JUDGED_DAY = date(2026, 6, 30)  # and the folder of its prompts, as the file says
JUDGED_HOME = "/home/mina/work"


class Selected(NamedTuple):
    """One prompt's records at a threshold: shown, those that belong, and what filling the places gives."""

    shown: int
    hits: int
    recall: float
    of_all: float
    best_kept: bool | None


def main(argv: list[str]) -> int:
    """Prints Markdown tables for what it is given."""
    options = _parser().parse_args(argv)
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(load_embedder(options.model), options.cache)
    if embedder.calibration is None:
        sys.exit(f"{embedder.model_id} has no constants: `python -m benchmarks relevance` fits them")
    folders = {folder.name: read_collections(folder) for folder in options.folders if not _fixtures(folder)}
    print(f"Model: {embedder.model_id}; threshold {embedder.calibration.threshold}.\n")
    if len(folders) > 1:
        print(small_memories(samples(folders, embedder, options.cache), embedder.calibration))
    for folder in filter(_fixtures, options.folders):
        print(precisionmembench(folder, embedder))
    if options.judged is not None:
        print(judged(options.judged, embedder))
    print(duplicates.measured(embedder))
    embedder.save()
    return 0


def _fixtures(folder: Path) -> bool:
    return (folder / FIXTURES).is_file()


def small_memories(found: Sequence[Sample], shipped: Calibration) -> str:
    """Tables of prompts with an answer, by folder and size, and of those without."""
    constants = {
        name: msgspec.structs.replace(one, threshold=shipped.threshold)
        for name, one in held_out(found).items()
    }
    groups: dict[tuple[str, str, int], list[Sample]] = defaultdict(list)
    for sample in found:
        groups[sample.kind, sample.folder, sample.size].append(sample)
    answered = [
        [kind, folder, str(size), *_answered([selected(one, constants[folder]) for one in group])]
        for (kind, folder, size), group in groups.items()
        if kind in ("answered", "joined")
    ]
    without = [
        [
            kind,
            folder,
            str(len(some)),
            f"{np.mean([not selected(one, constants[folder]).shown for one in some]):.3f}",
        ]
        for kind in ("foreign", "unanswered")
        for folder in constants
        if (
            some := [
                one for size in {s for _, _, s in groups} for one in groups.get((kind, folder, size), [])
            ]
        )
    ]
    heads = [
        "prompts",
        "folder",
        "records",
        "shown of 12",
        "precision",
        "of 12's recall kept",
        "best record kept",
    ]
    return "\n".join(
        [table(heads, answered), table(["prompts", "folder", "prompts asked", "select nothing"], without)]
    )


def selected(sample: Sample, calibration: Calibration) -> Selected:
    """What reaches the threshold of the sample's first PLACES rows."""
    kept = likely(sample.near, None, calibration, least=0).relevance >= calibration.threshold
    belongs = sample.belongs.astype(bool)
    best = bool(kept[np.flatnonzero(belongs)[0]]) if belongs.any() else None
    wanted = max(1, sample.wanted)
    return Selected(
        int(kept.sum()),
        int((kept & belongs).sum()),
        (kept & belongs).sum() / wanted,
        belongs.sum() / wanted,
        best,
    )


def _answered(found: Sequence[Selected]) -> Iterator[str]:
    yield f"{np.mean([one.shown for one in found]):.1f}"
    yield f"{np.mean([one.hits / one.shown if one.shown else 0.0 for one in found]):.3f}"
    yield f"{np.mean([one.recall for one in found]) / np.mean([one.of_all for one in found]):.3f}"
    yield f"{np.mean([one.best_kept for one in found if one.best_kept is not None]):.3f}"


def precisionmembench(folder: Path, embedder: Embedder) -> str:
    """A row for all places filled, and for what is selected, without phrases when records apply and with."""
    rows = []
    for name, least, aliases in (
        (f"all {PLACES} places", 0.0, False),
        ("selected", None, False),
        ("selected, aliases in applies_when", None, True),
    ):
        with tempfile.TemporaryDirectory() as cache:
            cases = answers(folder, Path(cache), embedder, least=least, aliases=aliases)
        found = scored(cases)
        precision = bootstrap(np.array([case.precision for case in cases if case.precision is not None]))
        rows.append(
            [
                name,
                f"{found.precision:.3f} [{precision.low:.3f}, {precision.high:.3f}]",
                f"{found.recall:.3f}",
                f"{found.passed} of {found.cases}",
            ]
        )
    return table([folder.name, "precision", "recall", "passed"], rows)


def judged(file: Path, embedder: Embedder) -> str:
    """Precision, recall and F1 of the playbooks that turns on the shipped sample select."""
    prompts = json.loads(file.read_text("utf-8"))["prompts"]
    with tempfile.TemporaryDirectory() as folder:
        root = shutil.copytree(Path(pi_rank.__file__).parent / "sample", Path(folder) / "root")
        with MemoryEngine.open(root, store=Path(folder) / "store.sqlite3", model=embedder) as engine:
            engine.sync()
            rows = [
                [name, *_f1(_turn(engine, prompt, least) for prompt in prompts)]
                for name, least in ((f"all {PLACES} places", 0.0), ("selected", None))
            ]
    return table([f"{file.stem} ({len(prompts)} prompts)", "shown", "relevant", "F1"], rows)


def _turn(engine: MemoryEngine, prompt: dict[str, Any], least: float | None) -> tuple[set[str], set[str]]:
    turn = SessionContext(
        latest_user_message=prompt["prompt"], working_directory=f"{JUDGED_HOME}/{prompt['project']}"
    )
    answer = engine.build_retrieval_context(turn, today=JUDGED_DAY, min_relevance=least)
    rules = {rule.id for rule in answer.hard_rules}
    layers = {record.id: record.layer for record in _records(engine, prompt["relevant"])}
    relevant = {name for name in prompt["relevant"] if layers.get(name) == "L2" and name not in rules}
    return {hit.id for hit in answer.selected if hit.layer == "L2"}, relevant


def _records(engine: MemoryEngine, ids: Iterable[str]) -> Iterator[Any]:
    for name in ids:
        yield from (hit.record for hit in engine.search(name, k=1) if hit.id == name)


def _f1(found: Iterable[tuple[set[str], set[str]]]) -> Iterator[str]:
    pairs = list(found)
    hits = sum(len(shown & relevant) for shown, relevant in pairs)
    shown, relevant = (sum(map(len, one)) for one in zip(*pairs, strict=True))
    yield str(shown)
    yield f"{hits} of {relevant}"
    yield f"{2 * hits / (shown + relevant):.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks precision", description=__doc__)
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="DIR", help="BEIR layout, or PrecisionMemBench's fixtures"
    )
    parser.add_argument("--judged", type=Path, metavar="FILE", help="prompts on the shipped sample")
    parser.add_argument("--model", default="default", help="an embedding model (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=user_cache_path("pi-rank") / "quality", metavar="FOLDER"
    )
    return parser
