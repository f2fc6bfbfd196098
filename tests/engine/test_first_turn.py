"""The first turn of a process selects as the next ones do, though nobody has had to load the model before."""

from __future__ import annotations

from pathlib import Path

import pi_rank
from pi_rank import MemoryEngine, SessionContext

SAMPLE = Path(pi_rank.__file__).parent / "sample"


def test_a_turn_without_a_sync_is_as_one_after_it(tmp_path):
    turn = SessionContext(
        latest_user_message="Can I deploy orchard to production this Friday?", profile_id=""
    )
    store = tmp_path / "store.sqlite3"
    with MemoryEngine.open(SAMPLE, store=store) as engine:
        engine.sync()
        synced = engine.build_retrieval_context(turn)
    with MemoryEngine.open(SAMPLE, store=store) as engine:
        first = engine.build_retrieval_context(turn)
        second = engine.build_retrieval_context(turn)
    assert synced.stats["relevance"] is not None
    assert first.markdown == second.markdown == synced.markdown
    assert first.stats["relevance"] == synced.stats["relevance"]
