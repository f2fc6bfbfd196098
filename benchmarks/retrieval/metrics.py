"""Retrieval metrics of one query, and what can be said of their means: intervals and paired tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CUT = 10
METRICS = ("recall@10", "nDCG@10", "MRR@10", "hit@1")
RESAMPLES = 2_000
CONFIDENCE = 0.95
_FLIPS_AT_ONCE = 500  # rows of signs that are held at a time


class Interval(NamedTuple):
    """A mean and its bootstrap interval at 95 %."""

    mean: float
    low: float
    high: float


class Comparison(NamedTuple):
    """Mean paired difference with its interval, and the two-sided p value of a randomisation test."""

    difference: Interval
    p: float


def evaluate(ranked: Sequence[str], relevant: Mapping[str, int]) -> tuple[float, ...]:
    """METRICS of one query, as trec_eval defines them: nDCG's gain is the grade, its discount log2(rank + 1).

    :param ranked: document ids, best first, each once.
    :param relevant: document id → grade above 0; at least one.
    """
    grades = [relevant.get(document, 0) for document in ranked[:CUT]]
    found = [rank for rank, grade in enumerate(grades, 1) if grade]
    ideal = sorted(relevant.values(), reverse=True)[:CUT]
    return (
        len(found) / len(relevant),
        _dcg(grades) / _dcg(ideal),
        1 / found[0] if found else 0.0,
        float(found[:1] == [1]),
    )


def _dcg(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def bootstrap(values: Floats, seed: int = 0) -> Interval:
    """The mean of per-query values and its percentile interval over resampled queries.

    :param values: float64[queries], at least one.
    """
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def compare(values: Floats, others: Floats, seed: int = 0) -> Comparison:
    """How far `values` are above `others`, query by query (float64[queries] both)."""
    differences = values - others
    observed = abs(differences.mean())
    random = np.random.default_rng(seed)
    beyond = 0
    for _ in range(RESAMPLES // _FLIPS_AT_ONCE):
        signs = random.integers(0, 2, (_FLIPS_AT_ONCE, len(differences))) * 2 - 1
        # 1e-12: a sum in another order is no other difference.
        beyond += int((np.abs((signs * differences).mean(axis=1)) >= observed - 1e-12).sum())
    return Comparison(bootstrap(differences, seed), (beyond + 1) / (RESAMPLES + 1))
