"""Lexical indexes that have been through a few updates, and what they hold, as hypothesis strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.lexical import LexicalIndex

STEMS = [*"abcdefgh", "ü", "部署"]
DOCUMENTS = st.builds(
    pack_terms,
    st.dictionaries(st.sampled_from(STEMS), st.integers(1, 5), max_size=6),
    st.dictionaries(st.sampled_from(["the", "and"]), st.integers(1, 3)),
)
QUERIES = st.lists(st.sampled_from([*STEMS, "the", "absent"]), max_size=8).map(tuple)


@st.composite
def histories(draw):
    """(index, {live row: document}) after a build and a few updates."""
    documents = draw(st.lists(DOCUMENTS, max_size=12))
    index = LexicalIndex.build(documents)
    live = dict(enumerate(documents))
    for _ in range(draw(st.integers(0, 3))):
        dead = draw(st.lists(st.sampled_from(sorted(live)), unique=True)) if live else []
        added = draw(st.lists(DOCUMENTS, max_size=4))
        live = {row: document for row, document in live.items() if row not in dead}
        live.update(enumerate(added, index.n_rows))
        index = index.updated(np.array(dead, np.int32), added)
    return index, live
