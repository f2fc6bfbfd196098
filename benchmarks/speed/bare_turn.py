"""The least that a turn has to do: its leaf routines one after the other, with nothing between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.speed.common import DEPTH, TODAY
from pi_rank.block.sections import BlockParts, build_block
from pi_rank.context import project_keys
from pi_rank.ranking.blend import blend
from pi_rank.turn.processors import turn_segments
from pi_rank.turn.turn import MIN_OVERLAP

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.speed.common import Turn
    from pi_rank.block.page import Block
    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.snapshot.snapshot import Snapshot

SHOWN = 8  # hard rules, and selected records, of a turn on the generated memory


def bare_turn(snapshot: Snapshot, analyzer: FtsAnalyzer) -> Callable[[Turn], Block]:
    """Match, filter, both searches, contested overlap, ranking, decoding and the block, for one turn.

    No limits, no traces, no provenance, no checks, no statistics: what the whole turn is held against.
    """

    def run(turn: Turn) -> Block:
        context, ties = turn.context, snapshot.tie_rank
        place = snapshot.place(context.profile_id, project_keys(context))
        silenced, _ = snapshot.phrases.match(turn_segments(context))
        eligible = place.in_project.view(np.uint8).copy()
        eligible[silenced] = 0
        terms = analyzer.query_terms(context.latest_user_message)
        contested = place.contested.view(np.uint8)
        doubtful, _ = snapshot.contested.best(terms, 2, above=MIN_OVERLAP, eligible=contested, tie_rank=ties)
        lexical, _ = snapshot.lexical.search(terms, DEPTH, eligible=eligible, tie_rank=ties)
        vectors = snapshot.vectors
        assert vectors is not None
        hits = vectors.search(turn.vector, DEPTH, eligible=eligible, tie_rank=ties)
        ranked = blend(snapshot.lexical, terms, lexical, vectors, turn.vector, hits, tie_rank=ties)
        return _block(snapshot, ranked.rows[:SHOWN].tolist(), doubtful.tolist())

    return run


def _block(snapshot: Snapshot, selected: list[int], contested: list[int]) -> Block:
    rules = snapshot.hard_rules[:SHOWN].tolist()
    parts = BlockParts(
        today=TODAY,
        hard_rules=[snapshot.record(row) for row in rules],
        selected=[snapshot.record(row) for row in selected],
        contested=[snapshot.record(row) for row in contested],
    )
    return build_block(parts)
