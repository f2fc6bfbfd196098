"""What each constant of the default ranking is worth, and what the relevance floor holds back."""

from __future__ import annotations

import argparse
import random
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from platformdirs import user_cache_path

from benchmarks.beir import Collection, read_collections
from benchmarks.cached_embedder import CachedEmbedder
from benchmarks.metrics import METRICS
from benchmarks.quality import measure, opened
from pi_rank import SessionContext
from pi_rank.embedding import load_embedder
from pi_rank.ranking import blend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pi_rank.embedding import Embedder

    Folders = dict[str, list[Collection]]

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "no centre": {"CENTRING": 0.0},
    "no feedback": {"FEEDBACK": 0.0},
    "neither": {"CENTRING": 0.0, "FEEDBACK": 0.0},
    "words never weighed down": {"BACKGROUND": slice(0, 0)},
    **{f"words {value}": {"LEXICAL": value} for value in (0.3, 0.4, 0.6, 0.7)},
    **{f"centre {value}": {"CENTRING": value} for value in (0.25, 0.75)},
    **{f"feedback {value}": {"FEEDBACK": value} for value in (0.25, 0.75)},
    **{f"feedback of {rows}": {"FEEDBACK_ROWS": rows} for rows in (1, 3, 5)},
}
FLOORS = (0.25, 0.3, 0.35, 0.4)
ASKED = 100  # questions of each other folder


def main(argv: list[str]) -> int:
    """Prints two Markdown tables for the folders, as `python -m benchmarks quality` takes them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality_parts", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder in BEIR layout")
    parser.add_argument(
        "--cache", type=Path, default=user_cache_path("pi-rank") / "quality", metavar="FOLDER"
    )
    options = parser.parse_args(argv)
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(load_embedder("default"), options.cache)
    folders = {folder.name: read_collections(folder) for folder in options.folders}
    print("\n".join(variants(folders, embedder, options.cache)), end="\n\n")
    print("\n".join(floors(folders, embedder, options.cache)))
    embedder.save()
    return 0


def variants(folders: Folders, embedder: Embedder, cache: Path) -> Iterator[str]:
    """nDCG@10 of the default with other constants: a row for each variant."""
    yield f"| nDCG@10 | {' | '.join(folders)} | mean |"
    yield f"|---|{'---|' * len(folders)}---|"
    for name, constants in VARIANTS.items():
        with replaced(constants):
            scores = [measure(found, embedder, ("default",), cache)["default"] for found in folders.values()]
        means = [float(rows[:, METRICS.index("nDCG@10")].mean()) for rows in scores]
        yield f"| {name} | {' | '.join(f'{mean:.4f}' for mean in means)} | {np.mean(means):.4f} |"


def floors(folders: Folders, embedder: Embedder, cache: Path) -> Iterator[str]:
    """The share of prompts below each floor: a folder's own, and others' that its first corpus is asked."""
    columns = {}
    for name, collections in folders.items():
        own = [relevances(one, one.queries.values(), embedder, cache) for one in collections]
        columns[f"{name}: own"] = np.concatenate(own)
        others = [found[-1] for other, found in folders.items() if other != name]
        columns[f"{name}: others'"] = relevances(collections[0], sampled(others), embedder, cache)
        if len(collections) > 1:
            neighbour = collections[1].queries.values()
            columns[f"{name}: neighbour's"] = relevances(collections[0], neighbour, embedder, cache)
    yield f"| below | {' | '.join(f'{name} ({len(column)})' for name, column in columns.items())} |"
    yield f"|---|{'---|' * len(columns)}"
    for floor in FLOORS:
        shares = [(column < floor).mean() for column in columns.values()]
        yield f"| {floor} | {' | '.join(f'{share:.3f}' for share in shares)} |"


def relevances(
    collection: Collection, prompts: Iterable[str], embedder: Embedder, cache: Path
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What turns on the collection's memory say of the prompts' relevance: float64[prompts]."""
    with opened(collection, embedder, "default", cache) as engine:
        turns = [engine.build_retrieval_context(SessionContext(latest_user_message=text)) for text in prompts]
    return np.array([turn.stats["relevance"] for turn in turns if "relevance" in turn.stats])


def sampled(collections: list[Collection]) -> list[str]:
    """ASKED queries of each collection, the same at each run."""
    chosen = random.Random(0)
    texts = [list(collection.queries.values()) for collection in collections]
    return [text for one in texts for text in chosen.sample(one, min(ASKED, len(one)))]


@contextmanager
def replaced(constants: dict[str, Any]) -> Iterator[None]:
    """Other constants in blend.py for a while."""
    before = {name: getattr(blend, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(blend, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(blend, name, value)
