"""Scores of given rows: those that a search gives, and the errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.errors import VectorError
from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.semantic import VectorIndex
from tests.reference.vectors import score, unit_vectors

STEMS = "abcdefgh"
DOCUMENTS = st.lists(
    st.builds(pack_terms, st.dictionaries(st.sampled_from(STEMS), st.integers(1, 5)), st.just({})),
    max_size=20,
)


def rows_of(*rows):
    return np.array(rows, np.int32)


@settings(deadline=None)
@given(
    DOCUMENTS, DOCUMENTS, st.lists(st.sampled_from([*STEMS, "absent"]), max_size=6).map(tuple), st.randoms()
)
def test_bm25_of_rows_is_that_of_the_search(base, added, terms, random):
    index = LexicalIndex.build(base).updated(rows_of(), added)
    everything = np.arange(index.n_rows, dtype=np.int32)
    found, scores = index.search(terms, index.n_rows, eligible=None, tie_rank=everything)
    score_of = dict(zip(found.tolist(), scores.tolist(), strict=True))
    rows = rows_of(*random.sample(range(index.n_rows), random.randint(0, index.n_rows)))
    bm25, coverage = index.score_rows(terms, rows)
    assert bm25.tolist() == [score_of.get(row, 0.0) for row in rows.tolist()]
    assert ((coverage > 0) == (bm25 > 0)).all()
    assert (coverage <= 1 + 1e-12).all()


def test_coverage_is_the_share_of_idf():
    index = LexicalIndex.build([b"a b\n", b"a:3\n", b"z\n", b"z\n", b"z\n", b"z\n"])
    rare, common, absent = (math.log((6 - df + 0.5) / (df + 0.5)) for df in (1, 2, 0))
    _, coverage = index.score_rows(("a", "b", "q"), rows_of(0, 1, 2))
    total = rare + common + absent
    assert coverage.tolist() == pytest.approx([(rare + common) / total, common / total, 0.0])
    assert [part.tolist() for part in index.score_rows((), rows_of(0))] == [[0.0], [0.0]]


@pytest.mark.parametrize("rows", [(-1, 0), (0, 2)])
def test_bm25_refuses_rows_that_are_not_there(rows):
    with pytest.raises(ValueError, match="rows must be from 0 to 1"):
        LexicalIndex.build([b"a\n", b"b\n"]).score_rows(("a",), rows_of(*rows))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from([1, 7, 8, 33]))
def test_products_are_the_reference(seed, rows, dimension):
    random = np.random.default_rng(seed)
    vectors = unit_vectors(seed, 20, dimension)
    node = random.integers(-1, 20, rows, dtype=np.int32)
    index = VectorIndex.build(vectors, node)
    chosen = random.permutation(rows)[: rows // 2 + 1].astype(np.int32)
    query = (random.standard_normal(dimension) * 3).astype(np.float32)  # of any length
    expected = [score(query, vectors[node[row]]) if node[row] >= 0 else math.nan for row in chosen]
    np.testing.assert_array_equal(index.products(query, chosen), expected)


def test_products_are_the_cosines_of_the_search():
    vectors = unit_vectors(3, 50, 24)
    index = VectorIndex.build(vectors, np.arange(50, dtype=np.int32))
    query = unit_vectors(4, 1, 24)[0]
    hits = index.search(query, 50, tie_rank=np.arange(50, dtype=np.int32))
    assert index.products(query, hits.rows).tolist() == hits.scores.tolist()


def test_bad_arrays_are_refused():
    index = VectorIndex.build(unit_vectors(1, 2, 4), rows_of(0, 1, -1))
    with pytest.raises(VectorError, match="query has dimension 3, the index 4"):
        index.products(np.zeros(3, np.float32), rows_of(0))
    with pytest.raises(VectorError, match="query must have dtype float32"):
        index.products(np.zeros(4), rows_of(0))
    for rows in (rows_of(3), rows_of(-1)):
        with pytest.raises(VectorError, match="rows must be between 0 and 2"):
            index.products(np.zeros(4, np.float32), rows)
