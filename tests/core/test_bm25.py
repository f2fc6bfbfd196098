from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.lexical import LexicalIndex
from tests.reference import bm25 as reference
from tests.support.lexical_histories import QUERIES, histories


@given(histories(), QUERIES, st.integers(0, 20), st.randoms())
def test_search_is_the_reference_to_the_last_bit(history, terms, k, random):
    index, live = history
    tie_rank = list(range(index.n_rows))
    random.shuffle(tie_rank)
    eligible = [int(row in live and random.random() < 0.7) for row in range(index.n_rows)]
    rows, scores = index.search(
        terms, k, eligible=np.array(eligible, np.uint8), tie_rank=np.array(tie_rank, np.int32)
    )
    expected = reference.bm25(live, terms, k, eligible=eligible, tie_rank=tie_rank)
    assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == expected


@given(histories(), st.lists(QUERIES, max_size=4), st.integers(0, 20), st.randoms())
def test_a_batch_is_each_search(history, queries, k, random):
    index, _ = history
    tie_rank = np.array(random.sample(range(index.n_rows), index.n_rows), np.int32)
    eligible = [
        None if random.random() < 0.3 else np.array([random.random() < 0.7 for _ in tie_rank], np.uint8)
        for _ in queries
    ]
    found = index.search_batch(queries, k, eligible=eligible, tie_rank=tie_rank)
    assert len(found) == len(queries)
    for query, flags, (rows, scores) in zip(queries, eligible, found, strict=True):
        one_rows, one_scores = index.search(query, k, eligible=flags, tie_rank=tie_rank)
        assert (rows.tolist(), scores.tolist()) == (one_rows.tolist(), one_scores.tolist())


def test_a_batch_needs_an_eligibility_array_for_each_query():
    index = LexicalIndex.build([b"a\n"])
    with pytest.raises(ValueError, match="zip"):
        index.search_batch([("a",), ("a",)], 1, eligible=[None], tie_rank=np.array([0], np.int32))


def test_blocks_with_and_without_eligible_rows():
    # Rows in three blocks of 4,096; the middle one holds no eligible row and is skipped.
    documents = [pack_terms({"a": 1 + row % 3, f"w{row % 7}": 1}, {}) for row in range(12_000)]
    index = LexicalIndex.build(documents)
    eligible = np.zeros(12_000, np.uint8)
    eligible[[5, 4_095, 8_192, 11_999]] = 1
    tie_rank = np.arange(12_000, dtype=np.int32)
    rows, scores = index.search(("w5", "a", "w0"), 9, eligible=eligible, tie_rank=tie_rank)
    everything, all_scores = index.search(("w5", "a", "w0"), 12_000, eligible=None, tie_rank=tie_rank)
    score_of = dict(zip(everything.tolist(), all_scores.tolist(), strict=True))
    assert len(everything) == 12_000
    assert sorted(rows.tolist()) == [5, 4_095, 8_192, 11_999]
    assert scores.tolist() == [score_of[row] for row in rows.tolist()]
    assert scores.tolist() == sorted(scores, reverse=True)


def test_equal_scores_are_ordered_by_tie_rank_and_cut_there():
    index = LexicalIndex.build([b"a\n"] * 5)
    tie_rank = np.array([3, 1, 4, 0, 2], np.int32)
    rows, scores = index.search(("a",), 3, eligible=None, tie_rank=tie_rank)
    assert rows.tolist() == [3, 1, 4]
    assert len(set(scores.tolist())) == 1
