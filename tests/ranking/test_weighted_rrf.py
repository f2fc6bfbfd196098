from __future__ import annotations

import numpy as np
import pytest

from pi_rank.ranking.fusion import LEXICAL_WEIGHT, RRF_K, SEMANTIC_WEIGHT, provenance, weighted_rrf

WEIGHTS = (LEXICAL_WEIGHT, SEMANTIC_WEIGHT)
TIE_RANK = np.array([2, 0, 1, 3], np.int32)


def rows(*values):
    return np.array(values, np.int32)


def fused(lists, weights=WEIGHTS, limit=10, **options):
    found, scores = weighted_rrf(lists, weights, limit=limit, tie_rank=TIE_RANK, **options)
    return list(zip(found.tolist(), scores.tolist(), strict=True))


def test_the_published_formula():
    assert fused([rows(0, 1), rows(1, 3)]) == [
        (1, 0.45 / 62 + 0.55 / 61),
        (3, 0.55 / 62),
        (0, 0.45 / 61),
    ]


def test_equal_scores_are_ordered_by_tie_rank():
    assert [row for row, _ in fused([rows(0, 1), rows(1, 0)], (1, 1))] == [1, 0]
    assert [row for row, _ in fused([rows(0), rows(1), rows(2)], (1, 1, 1), limit=2)] == [1, 2]


def test_a_duplicate_counts_once_at_its_best_rank():
    assert fused([rows(0, 1, 0)], (1,)) == [(0, 1 / 61), (1, 1 / 62)]


def test_an_unknown_id_keeps_its_rank():
    assert fused([rows(-1, 0)], (1,)) == [(0, 1 / 62)]


def test_k_and_limit():
    assert fused([rows(3)], (1,), k=0) == [(3, 1.0)]
    assert fused([rows(3)], (1,), limit=0) == []
    assert fused([rows(3)], (1,), limit=2**70) == [(3, 1 / 61)]


def test_nothing_to_fuse():
    assert fused([], ()) == []
    assert fused([rows(), rows()]) == []
    found, scores = weighted_rrf([rows()], (1,), limit=5, tie_rank=rows())
    assert (found.dtype, scores.dtype, found.size) == (np.int32, np.float64, 0)


@pytest.mark.parametrize(
    ("lists", "weights", "options", "error", "message"),
    [
        ([rows(0, 4)], (1,), {}, ValueError, "list 0 holds row 4 at rank 2; rows are 0 to 3"),
        ([rows(0), rows(-2)], WEIGHTS, {}, ValueError, "list 1 holds row -2 at rank 1"),
        ([np.array([2**31 + 1])], (1,), {}, TypeError, r"lists\[0\] must have dtype int32, not int64"),
        ([[0, 1]], (1,), {}, TypeError, r"lists\[0\] must be a numpy array of int32, not list"),
        ([rows(0, 1, 2, 3)[::2]], (1,), {}, ValueError, r"lists\[0\] must be contiguous"),
        ([rows(0)], WEIGHTS, {}, ValueError, "each list needs one weight: 1 lists, 2 weights"),
        ([rows(0)], (float("nan"),), {}, ValueError, "a weight must be finite and not negative, not nan"),
        ([rows(0)], (-1,), {}, ValueError, "a weight must be finite"),
        ([rows(0)], (1,), {"k": -1}, ValueError, "k must be finite and not negative, not -1"),
        ([rows(0)], (1,), {"limit": -1}, ValueError, "limit must not be negative, not -1"),
    ],
)
def test_bad_input_is_refused(lists, weights, options, error, message):
    with pytest.raises(error, match=message):
        fused(lists, weights, **options)


def test_provenance_adds_up():
    lists = [rows(0, 1, 1), rows(2, 1)]
    assert provenance([1], lists, WEIGHTS)[0] == ((0, 2, 0.45 / 62), (1, 2, 0.55 / 62))
    assert provenance([2], lists, WEIGHTS)[0] == ((1, 1, 0.55 / 61),)
    assert provenance([3], lists, WEIGHTS)[0] == ()
    with pytest.raises(ValueError, match="each list needs one weight"):
        provenance([1], lists, (1,))


def test_constants_are_the_published_ones():
    assert (LEXICAL_WEIGHT, SEMANTIC_WEIGHT, RRF_K) == (0.45, 0.55, 60)
