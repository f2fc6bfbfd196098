"""The report's Markdown, from results as the benchmarks record them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]

LIBRARIES = (
    "pi_rank",
    "pi_rank hnsw",
    "bm25s",
    "tantivy",
    "fts5",
    "pyahocorasick",
    "ranx",
    "numpy",
    "hnswlib",
    "reference",
)


# How a case is named in a table's first column, by the key of its value.
CASES = {"size": "{:,}", "words": "{} words", "share": "{:.0%} eligible"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def of(results: Sequence[Result], question: str) -> list[Result]:
    """The results that answer one question."""
    return [result for result in results if result["question"] == question]


def microseconds(value: float) -> str:
    """Three digits, in µs, ms or s."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g} s"
    if value >= 1_000:
        return f"{value / 1_000:.3g} ms"
    return f"{value:.0f} µs" if value >= 100 else f"{value:.3g} µs"


def turn_table(results: Sequence[Result]) -> str:
    """The whole turn: a row per number of records and prompt length, a column per eligible share."""
    turns = of(results, "turn")
    shares = sorted({turn["share"] for turn in turns}, reverse=True)
    cells = {(turn["size"], turn["words"], turn["share"]): turn for turn in turns}
    rows = [
        [f"{size:,}, {words} words"]
        + [_p50_p99(cells[size, words, share], "") for share in shares]
        + [_p50_p99(cells[size, words, shares[0]], "_all")]
        for size, words in sorted({(turn["size"], turn["words"]) for turn in turns})
    ]
    heads = [
        "records, prompt",
        *(f"{share:.0%} eligible" for share in shares),
        f"{shares[0]:.0%}, all timings",
    ]
    return table(heads, rows)


def _p50_p99(result: Result, suffix: str) -> str:
    return f"{microseconds(result['p50' + suffix])} / {microseconds(result['p99' + suffix])}"


def peers_table(results: Sequence[Result], question: str, keys: Sequence[str]) -> str:
    """One question's medians: a row per case (the values of `keys`), a column per library."""
    found = [result for result in of(results, question) if "library" in result]
    libraries = [name for name in LIBRARIES if any(result["library"] == name for result in found)]
    cases = sorted({tuple(result[key] for key in keys) for result in found})
    cells = {(*(result[key] for key in keys), result["library"]): result for result in found}
    rows = []
    for case in cases:
        medians = [cells.get((*case, library)) for library in libraries]
        name = ", ".join(CASES[key].format(value) for key, value in zip(keys, case, strict=True))
        rows.append([name or "two lists of 100"] + [microseconds(m["p50"]) if m else "" for m in medians])
    return table(["", *libraries], rows)


def recall_table(results: Sequence[Result]) -> str:
    """Recall@100 of the approximate searches: a row per number of records."""
    found = [result for result in of(results, "vectors") if "recall" in result]
    libraries = sorted({result["library"] for result in found})
    cells = {(result["size"], result["library"]): result["recall"] for result in found}
    sizes = sorted({size for size, _ in cells})
    rows = [[f"{size:,}", *(f"{cells[size, library]:.4f}" for library in libraries)] for size in sizes]
    return table(["recall@100", *libraries], rows)


def batch_table(results: Sequence[Result]) -> str:
    """Turns a second, one by one and batched."""
    rows = [
        [
            f"{result['size']:,} records, vector {result['embedding']}",
            f"{result['alone']:,.0f}",
            f"{result['batched']:,.0f}",
            f"{result['batched'] / result['alone']:.2f}",
            f"{result['gain']:.2f}",
        ]
        for result in of(results, "batch")
    ]
    return table(["turns a second", "one by one", "batch", "gain", "gain of two threads that hash"], rows)


def measures_table(results: Sequence[Result], question: str) -> str:
    """One question's measures as they are named: a row per number of records."""
    found = of(results, question)
    names = [name for name in found[0] if name not in ("question", "size")]
    rows = [[f"{result['size']:,}", *(f"{result[name]:,}" for name in names)] for result in found]
    return table(["records", *(name.replace("_", " ") for name in names)], rows)


def gates_table(results: Sequence[Result]) -> str:
    """The ratios, their bounds, and whether they held."""
    rows = [
        [result["gate"], f"{result['ratio']:.2f}", result["bound"], "yes" if result["holds"] else "**no**"]
        for result in of(results, "gates")
    ]
    return table(["ratio", "measured", "bound", "held"], rows)
