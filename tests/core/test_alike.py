from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.alike import alike
from pi_rank.ranking.semantic import VectorIndex
from tests.reference.selection import alike as reference
from tests.reference.vectors import unit_vectors


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 24),
    dimension=st.sampled_from([3, 8, 100]),
    least=st.floats(-0.5, 0.99),
)
def test_pairs_are_the_reference(seed, count, dimension, least):
    random = np.random.default_rng(seed)
    vectors = unit_vectors(seed, count, dimension)
    node = np.where(random.random(count) < 0.8, np.arange(count), -1).astype(np.int32)
    rows = random.permutation(count).astype(np.int32)
    first, second, bare = alike(VectorIndex.build(vectors, node).table, rows, least)
    known = [vectors[row] if node[row] >= 0 else None for row in rows]
    # A sum in another order may fall on the other side of the limit where it is met to the last bits.
    certain, possible = (set(reference.alike(known, least + shift)) for shift in (1e-6, -1e-6))
    found = list(zip(first.tolist(), second.tolist(), strict=True))
    assert certain <= set(found) <= possible
    assert found == sorted(found)
    assert bare.tolist() == [place for place, vector in enumerate(known) if vector is None]


def test_rows_of_one_vector_are_alike_whatever_rounding_makes_of_it():
    vectors = unit_vectors(1, 1, 64)
    table = VectorIndex.build(vectors, np.zeros(3, np.int32)).table
    first, second, _ = alike(table, np.array([2, 0, 1], np.int32), 2.0)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_refused(row):
    table = VectorIndex.build(unit_vectors(1, 3, 8), np.arange(3, dtype=np.int32)).table
    with pytest.raises(ValueError, match="rows must be from 0 to 2"):
        alike(table, np.array([0, row], np.int32), 0.5)
