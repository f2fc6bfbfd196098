"""What the parts of the default ranking are worth, and what other rules reach."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from platformdirs import user_cache_path

from benchmarks.retrieval.beir import Collection, read_collections
from benchmarks.retrieval.cached_embedder import CachedEmbedder
from benchmarks.retrieval.reorderings import distinct, diverse, widened, without_hubs
from benchmarks.retrieval.rules import (
    NDCG,
    RECALL,
    blended,
    fused,
    load_memory,
    min_max,
    rrf,
    score,
    summed,
    z_score,
)
from pi_rank.embedding import load_embedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.retrieval.rules import Memory, Rule
    from pi_rank.embedding import Embedder

    Memories = dict[str, list[Memory]]
    Folders = dict[str, list[Collection]]

UNWEIGHED = (0, 0)  # no background: words count in full

VARIANTS: dict[str, Rule] = {
    "default": blended(),
    "no centre": blended(centre=0.0),
    "no feedback": blended(feedback=0.0),
    "neither": blended(centre=0.0, feedback=0.0),
    "words never weighed down": blended(background=UNWEIGHED),
    "words never weighed down, .35": blended(background=UNWEIGHED, words=0.35),
    "BM25 without coverage": blended(coverage=0.0),
    "coverage without BM25": blended(coverage=1.0),
    **{f"words {value}": blended(words=value) for value in (0.3, 0.4, 0.6, 0.7)},
    **{f"centre {value}": blended(centre=value) for value in (0.25, 0.75)},
    **{f"centre of {hits} hits": blended(centre_hits=hits) for hits in (20, 50)},
    **{f"feedback {value}": blended(feedback=value) for value in (0.25, 0.75)},
    **{f"feedback of {rows}": blended(feedback_rows=rows) for rows in (1, 3, 5)},
}
OTHERS: dict[str, Rule] = {
    "rrf": rrf,
    **{f"rrf, {share} words": fused(share, 60) for share in (0.25, 0.5, 0.75)},
    **{f"rrf, k = {k}": fused(0.45, k) for k in (5, 20)},
    "sum of min-max scores": summed(min_max),
    "sum of z-scores": summed(z_score),
    **{
        f"cosine + {words} BM25 / max": blended(
            words=words, coverage=0.0, background=UNWEIGHED, centre=0.0, feedback=0.0
        )
        for words in (0.2, 0.3, 0.4)
    },
    "default, all records as candidates": widened,
    **{f"default − {penalty} hub": without_hubs(penalty) for penalty in (0.1, 0.3)},
    **{f"default, no pair of cosine {most}": distinct(most) for most in (0.9, 0.95)},
    **{f"default, marginal relevance {penalty}": diverse(penalty) for penalty in (0.1, 0.3)},
}


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
    memories = {
        name: [load_memory(one, embedder, options.cache) for one in found] for name, found in folders.items()
    }
    print("\n".join(table("nDCG@10", VARIANTS, memories, embedder)), end="\n\n")
    print("\n".join(table("nDCG@10", OTHERS, memories, embedder)))
    embedder.save()
    return 0


def table(head: str, rules: dict[str, Rule], folders: Memories, embedder: Embedder) -> Iterator[str]:
    """nDCG@10 by folder, its mean and that of recall@10: a row for each rule."""
    yield f"| {head} | {' | '.join(folders)} | mean | recall@10 |"
    yield f"|---|{'---|' * len(folders)}---|---|"
    for name, rule in rules.items():
        means = np.array([score(memories, embedder, rule).mean(axis=0) for memories in folders.values()])
        each = " | ".join(f"{mean:.4f}" for mean in means[:, NDCG])
        yield f"| {name} | {each} | {means[:, NDCG].mean():.4f} | {means[:, RECALL].mean():.4f} |"
