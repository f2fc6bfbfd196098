"""A few of the kills of the campaign; `python -m tests.campaign --door kills` makes many."""

from __future__ import annotations

from tests.campaign.scenes.kills import WORK, kill_many
from tests.support.graphs import needs_hnswlib

KILLS = len(WORK) + 1


@needs_hnswlib  # a fifth of the kills hits the building of graphs
def test_the_start_after_a_kill_is_right(tmp_path):
    hits = kill_many(tmp_path, KILLS)
    assert hits.pop("damaged files") > 0
    assert sum(hits.values()) == KILLS
    assert len(hits) > 1
