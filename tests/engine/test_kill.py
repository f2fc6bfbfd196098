"""A few of the kills of tests/kill.py; `python -m tests.kill --times 200` makes many."""

from __future__ import annotations

from tests.kill import WORK, kill_many
from tests.support.graphs import needs_hnswlib


@needs_hnswlib  # a fifth of the kills hits the building of graphs
def test_the_start_after_a_kill_is_right(tmp_path, monkeypatch):
    # Puts back what kill_many makes eager here, in the process that checks.
    monkeypatch.setattr("pi_rank.snapshot.saved.MIN_ROWS", 0)
    monkeypatch.setattr("pi_rank.snapshot.saved.MAX_LAG", 0.0)
    monkeypatch.setattr("pi_rank.ranking.semantic.VectorIndex.wants_graph", property(lambda _: False))
    hits = kill_many(tmp_path, 2 * len(WORK))
    assert hits.pop("damaged files") > 0
    assert sum(hits.values()) == 2 * len(WORK)
    assert len(hits) > 1
