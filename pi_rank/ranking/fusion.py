"""Weighted Reciprocal Rank Fusion of ranked row lists (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pi_rank._core.fusion import fuse
from pi_rank.ranking.arrays import require_array

# PI's published constants.
LEXICAL_WEIGHT = 0.45
SEMANTIC_WEIGHT = 0.55
RRF_K = 60


class Contribution(NamedTuple):
    """What one ranked list gave to a row's score."""

    list_index: int
    rank: int
    contribution: float


def weighted_rrf(
    lists: Sequence[NDArray[np.int32]],
    weights: Sequence[float],
    *,
    k: int = RRF_K,
    limit: int,
    tie_rank: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The best `limit` rows by score(row) = Σ weight / (k + rank), rank from 1, summed in list order.

    :param lists: int32 arrays of rows, best first. A row listed twice counts once, at its best rank;
        -1 (an id that is not in the snapshot) takes its rank and gives no row.
    :param weights: one for each list, finite and not negative.
    :param tie_rank: int32[n_rows]; equal scores are ordered by it, ascending.
    :returns: (int32 rows, float64 scores), best first.
    :raises TypeError: an array of another type than int32.
    :raises ValueError: a row outside the snapshot; lists and weights of different number; a bad weight or k.
    """
    _check_parameters(len(lists), weights, k)
    require_array("tie_rank", tie_rank, np.int32)
    for index, rows in enumerate(lists):
        require_array(f"lists[{index}]", rows, np.int32)
    return fuse(tuple(lists), tuple(weights), k, _limit(limit), tie_rank)


def provenance(
    rows: Sequence[int], lists: Sequence[NDArray[np.int32]], weights: Sequence[float], k: int = RRF_K
) -> list[tuple[Contribution, ...]]:
    """Where each row's fused score comes from, in list order; the contributions add up to it exactly.

    :raises ValueError: lists and weights of different number; a bad weight or k.
    """
    _check_parameters(len(lists), weights, k)
    # Filled from the worst rank to the best, so that a row listed twice keeps its best.
    ranks = [dict(zip(rows[::-1].tolist(), range(len(rows), 0, -1), strict=True)) for rows in lists]
    return [
        tuple(
            Contribution(index, rank, weight / (k + rank))
            for index, (rank_of, weight) in enumerate(zip(ranks, weights, strict=True))
            if (rank := rank_of.get(row))
        )
        for row in rows
    ]


def _check_parameters(n_lists: int, weights: Sequence[float], k: int) -> None:
    if n_lists != len(weights):
        raise ValueError(f"each list needs one weight: {n_lists} lists, {len(weights)} weights")
    for weight in weights:
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"a weight must be finite and not negative, not {weight}")
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"k must be finite and not negative, not {k}")


def _limit(limit: int) -> int:
    limit = operator.index(limit)
    if limit < 0:
        raise ValueError(f"limit must not be negative, not {limit}")
    return min(limit, np.iinfo(np.int32).max)  # there are no more rows than that
