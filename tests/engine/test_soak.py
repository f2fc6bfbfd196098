"""A short soak, and whether two threads use two cores; `python -m tests.campaign --door soak` runs longer."""

from __future__ import annotations

import pytest

from tests.campaign.scenes.soak import THREADS, Soak
from tests.support.scaling import asking, checksum, window

# Rounds that a busy machine is given to show two free cores at once.
MOST_ROUNDS = 25


def test_threads_and_a_writer_share_an_engine(tmp_path):
    soak = Soak(tmp_path)
    soak.run(5)
    assert soak.wrong == []
    assert len(soak.generations) > 2
    assert soak.turns > THREADS * 10


def test_two_threads_are_served_by_two_cores(tmp_path):
    """Nothing serialised can use more than one core, however free the machine is."""
    free, one, two = [], [], []
    with asking(tmp_path) as ask:
        for _ in range(MOST_ROUNDS):
            free.append(window(checksum, 2).cores)
            one.append(window(ask, 1).cost)
            two.append(window(ask, 2))
            best = max(two, key=lambda found: found.cores)
            scale = best.cores * min(one) / best.cost
            if max(free) > 1.6 and scale >= 1.3:
                break
    print(
        f"{best.cores:.2f} cores of {max(free):.2f}; a turn {min(one) * 1e3:.2f} and {best.cost * 1e3:.2f} ms"
    )
    if max(free) < 1.6:
        pytest.skip(f"two threads without any lock got {max(free):.2f} cores here: nothing can be told")
    assert scale >= 1.3
