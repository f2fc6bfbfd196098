"""The process that the campaign kills: it syncs a changing memory, asks, and has files written."""

from __future__ import annotations

import random
import time

from pi_rank import MemoryEngine, SessionContext
from pi_rank.ranking.graphs import builder as graph_builder
from pi_rank.snapshot import graph_keeper, keeper
from pi_rank.snapshot import saved as saved_snapshot
from pi_rank.store.store import MemoryStore
from tests.campaign.eager import eager
from tests.support.memory import write_root
from tests.support.snapshots import EMBEDDER, WORDS

RECORDS = 400
# Where a kill is aimed at: the function that does the work, by the module that calls it.
WORK = {
    "sync": (MemoryStore, "sync_root"),
    "vectors": (MemoryStore, "put_vectors"),
    "refresh": (keeper, "refresh_snapshot"),
    "snapshot file": (saved_snapshot, "write_snapshot"),
    "graph": (graph_builder, "build_graph"),
    "graph file": (graph_keeper, "save_graph"),
    "rebuild": (MemoryStore, "replace"),
}


def work(folder, seed, under_way):
    """Syncs a changing memory and asks, without end, and tells what is under way."""
    with eager():
        _work(folder, seed, under_way)


def _work(folder, seed, under_way):
    for number, (owner, name) in enumerate(WORK.values(), 1):
        setattr(owner, name, announced(getattr(owner, name), number, under_way))
    chance = random.Random(seed)
    while True:
        with MemoryEngine.open(folder / "root", store=folder / "store.sqlite3", model=EMBEDDER) as engine:
            for _ in range(3):
                write_root(folder / "root", some_records(chance))
                engine.sync()
                if chance.random() < 0.2:
                    engine.rebuild()
                for _ in range(chance.randrange(keeper.LONG_LIVED * 3)):
                    engine.build_retrieval_context(SessionContext(latest_user_message=chance.choice(WORDS)))
                time.sleep(chance.uniform(0, 0.05))


def announced(function, number, under_way):
    def announcing(*arguments, **options):
        under_way.value = number
        try:
            return function(*arguments, **options)
        finally:
            under_way.value = 0

    return announcing


def some_records(chance):
    """Of a fixed set of ids most, with other words for a quarter of them each time."""
    for number in range(RECORDS):
        if chance.random() < 0.95:
            mark = chance.randrange(4) or number
            yield {
                "id": f"mem_{number}",
                "statement": f"{WORDS[number % 10]} {WORDS[mark % 10]} {number} {mark}",
            }
