"""What does each embedding model cost, and how well does it find, next to other engines with its weights?"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pi_rank.embedding.cards import FileCard
from pi_rank.embedding.registry import DEFAULT_MODEL, shipped_cards

STARTS = 3  # of each model's process; the fastest load counts
# Least ratios of the default to its original on torch.
NEEDED = {"query_milliseconds": 4.0, "texts_per_second": 3.0, "load_seconds": 10.0}
COLLECTIONS = ("locomo", "stackfaq", "cranfield")


def main(argv: list[str]) -> int:
    """Prints the table; 1 where a ratio to `--against` is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks models", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="every shipped model if none is given")
    parser.add_argument(
        "--against",
        metavar="FOLDER",
        default=os.environ.get("PI_RANK_MINILM"),
        help="all-MiniLM-L6-v2 for sentence-transformers, to measure ratios to (PI_RANK_MINILM)",
    )
    parser.add_argument(
        "--data", nargs="*", metavar="DIR", help="collections in BEIR's layout (PI_RANK_SHARED)"
    )
    parser.add_argument("--texts", type=int, default=2_000, metavar="N", help="in a batch (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    arguments = parser.parse_args(argv)
    folders = _collections() if arguments.data is None else arguments.data
    measured = {
        name: measure(model, arguments.texts, folders)
        for name, model in chosen(arguments.models, arguments.against).items()
    }
    ratios = _ratios(measured.get(DEFAULT_MODEL), measured.get("torch"))
    if arguments.json:
        print(json.dumps({"models": measured, "ratios": ratios}, indent=2))
    else:
        _print(measured, ratios)
    return 0 if all(ratio >= NEEDED[name] for name, ratio in ratios.items()) else 1


def chosen(names: list[str], against: str | None) -> dict[str, str]:
    """What is measured, by the name of its row: models, and engines installed for the default one."""
    complete = [
        card.id for card in shipped_cards().values() if not isinstance(card, FileCard) or card.is_complete
    ]
    chosen = {name: name for name in names or complete}
    if not names and all(map(find_spec, ("onnx", "onnxruntime", "tokenizers"))):
        chosen["onnxruntime"] = "onnxruntime"
    if against:
        if all(map(find_spec, ("ctranslate2", "transformers", "torch"))):
            chosen["ctranslate2"] = f"ctranslate2:{against}"
        chosen["torch"] = against
    return chosen


def measure(model: str, texts: int, folders: list[str]) -> dict[str, Any]:
    """What `model_worker` measures, in processes of its own."""
    runs = [_run(model, "64", [])["load_seconds"] for _ in range(STARTS - 1)]
    last = _run(model, str(texts), folders)
    return last | {"load_seconds": min(*runs, last["load_seconds"])}


def _run(model: str, texts: str, folders: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.retrieval.model_worker", model, texts, *folders]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{model} cannot be measured:\n{result.stderr}")
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def _collections() -> list[str]:
    shared = os.environ.get("PI_RANK_SHARED")
    if not shared:
        return []
    return [str(Path(shared) / "data" / name) for name in COLLECTIONS]


def _ratios(ours: dict[str, Any] | None, torch: dict[str, Any] | None) -> dict[str, float]:
    """How many times better the default is than its original on torch."""
    if ours is None or torch is None:
        return {}
    return {
        "query_milliseconds": round(torch["query_milliseconds"] / ours["query_milliseconds"], 1),
        "texts_per_second": round(ours["texts_per_second"] / torch["texts_per_second"], 1),
        "load_seconds": round(torch["load_seconds"] / ours["load_seconds"], 1),
    }


def _print(measured: dict[str, dict[str, Any]], ratios: dict[str, float]) -> None:
    collections = next(iter(measured.values())).get("quality", {})
    costs = ("load s", "resident MB", "query ms", "texts/s")
    print("  ".join(f"{title:>16}" for title in ("model", *costs, *collections)))
    for name, row in measured.items():
        cells = [
            row["load_seconds"],
            row["resident_megabytes"],
            row["query_milliseconds"],
            row["texts_per_second"],
        ]
        cells += [
            f"{found['recall_at_10']} / {found['ndcg_at_10']}" for found in row.get("quality", {}).values()
        ]
        print("  ".join(f"{cell:>16}" for cell in (name, *cells)))
    for name, ratio in ratios.items():
        print(f"{name}: {ratio} times better than torch, {NEEDED[name]:g} needed")
    if collections:
        print("quality: recall@10 / nDCG@10 of the model's vectors alone")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
