"""The index of names: built at once, extended, or read again, it finds the same."""

from __future__ import annotations

import numpy as np
import pytest

from pi_rank.ranking import names
from pi_rank.ranking.names import NameIndex

TEXTS = [f"svc_{number % 7}.{number} is described in DOC-{number}" for number in range(300)]


def found_by(index, query):
    named = index.find(query, np.ones(index.n_rows, np.uint8))
    return {} if named is None else dict(zip(named.rows.tolist(), named.shares.tolist(), strict=True))


@pytest.mark.parametrize("delta", [0, 8192])
def test_an_extended_index_finds_what_one_of_all_texts_finds(monkeypatch, delta):
    monkeypatch.setattr(names, "DELTA_ENTRIES", delta)
    extended = NameIndex.build(TEXTS[:100]).updated(TEXTS[100:110]).updated([]).updated(TEXTS[110:])
    whole = NameIndex.build(TEXTS)
    read = NameIndex.from_arrays(*extended.arrays(np.arange(300, dtype=np.int32)).values(), n_rows=300)
    for query in ("DOC-105", "svc_3.150", "svc_4.9999", "what of DOC-12 and DOC-290?", "nothing"):
        assert found_by(extended, query) == found_by(whole, query) == found_by(read, query)
    assert found_by(whole, "DOC-105") == {105: 6.0}
    assert extended.n_rows == 300
    assert extended.nbytes > 0


def test_what_is_kept_of_an_index_is_numbered_anew():
    kept = np.array([5, 7, 105, 299], np.int32)
    part = NameIndex.from_arrays(*NameIndex.build(TEXTS).arrays(kept).values(), n_rows=4)
    assert found_by(part, "DOC-105") == {2: 6.0}
    assert found_by(part, "DOC-106") == {}
    assert found_by(part, "svc_5.299") == {3: 6.0}


def test_an_array_of_another_length_is_refused():
    with pytest.raises(ValueError, match="300 entries"):
        NameIndex.build(TEXTS).find("DOC-1", np.ones(299, np.uint8))


def test_an_index_of_nothing_finds_nothing():
    assert NameIndex.build([]).find("DOC-1", np.ones(0, np.uint8)) is None
