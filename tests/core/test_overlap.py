from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank._core import overlap, postings
from pi_rank.ranking.overlap import OverlapIndex
from tests.reference import bm25 as reference
from tests.support.lexical_histories import QUERIES, histories


@given(histories(), QUERIES, st.integers(0, 6), st.sampled_from([0.0, 0.15, 0.5, 1.0]), st.randoms())
def test_the_best_are_the_reference(history, terms, k, above, random):
    index, live = history
    tie_rank = list(range(index.n_rows))
    random.shuffle(tie_rank)
    held = [row for row in live if random.random() < 0.8]
    chosen = [row for row in held if random.random() < 0.7]
    eligible = np.zeros(index.n_rows, np.uint8)
    eligible[chosen] = 1
    terms = tuple(term for term in terms if term != "the")
    rows, ratios = OverlapIndex(index, np.array(held, np.int32)).best(
        terms, k, above=above, eligible=eligible, tie_rank=np.array(tie_rank, np.int32)
    )
    expected = reference.overlap(live, terms, rows=chosen, tie_rank=tie_rank)
    expected = [(row, ratio) for row, ratio in expected if ratio > above]
    assert list(zip(rows.tolist(), ratios.tolist(), strict=True)) == expected[:k]


def test_arrays_that_end_before_the_rows_are_refused():
    rows = np.array([1, 4], np.int32)
    index = overlap.OverlapIndex(postings.build([b"a\n", b"b\n"]), rows)
    five, four = np.ones(5, np.uint8), np.ones(4, np.uint8)
    ties = np.arange(5, dtype=np.int32)
    assert index.best(("b",), 1, 0.0, five, ties)[0].tolist() == [4]
    for eligible, tie_rank in ((four, ties), (five, ties[:4])):
        with pytest.raises(ValueError, match="an entry for every row"):
            index.best(("b",), 1, 0.0, eligible, tie_rank)


def test_a_segment_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="1 documents for 2 rows"):
        overlap.OverlapIndex(postings.build([b"a\n"]), np.array([1, 4], np.int32))
    with pytest.raises(ValueError, match="1 documents for 1 rows"):
        overlap.OverlapIndex(postings.build([b"a\n"], 3), np.array([3], np.int32))
