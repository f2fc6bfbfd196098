from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.ranking.fusion import provenance, weighted_rrf
from tests.reference import fusion as reference

LISTS = st.lists(st.lists(st.integers(-1, 30), max_size=25), max_size=5)


@given(LISTS, st.integers(0, 100), st.integers(0, 40), st.randoms())
def test_fusion_is_the_reference_to_the_last_bit(lists, k, limit, random):
    tie_rank = list(range(31))
    random.shuffle(tie_rank)
    weights = [random.choice([0.0, 0.45, 0.55, 3.0]) for _ in lists]
    arrays = [np.array(rows, np.int32) for rows in lists]
    rows, scores = weighted_rrf(arrays, weights, k=k, limit=limit, tie_rank=np.array(tie_rank, np.int32))
    expected = reference.weighted_rrf(lists, weights, k, limit, tie_rank)
    assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == expected
    for row, score in expected:
        assert sum(part.contribution for part in provenance([row], arrays, weights, k)[0]) == score


def test_two_lists_of_100_are_fused_at_least_8_times_as_fast_as_by_dictionaries():
    lists = [np.random.default_rng(seed).permutation(1000)[:100].astype(np.int32) for seed in (1, 2)]
    tie_rank = np.arange(100_000, dtype=np.int32)
    plain, plain_ties = [rows.tolist() for rows in lists], tie_rank.tolist()
    weights = (0.45, 0.55)

    def compiled():
        weighted_rrf(lists, weights, limit=50, tie_rank=tie_rank)

    def dictionaries():
        reference.weighted_rrf(plain, weights, 60, 50, plain_ties)

    # Best of many short runs in turn, in process time: the machine may be shared.
    ratios = [_seconds(dictionaries, 40) / _seconds(compiled, 40) for _ in range(40)]
    assert max(ratios) >= 8


def _seconds(function, times):
    start = time.process_time()
    for _ in range(times):
        function()
    return time.process_time() - start
