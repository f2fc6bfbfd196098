"""How many turns a second, one by one and as a batch, with and without the embedding?"""

from __future__ import annotations

import pytest

from benchmarks.speed.batches import memory_with_known_vectors, memory_with_model, rates
from benchmarks.speed.common import SIZES

TURNS = 256
EMBEDDED_TURNS = 64


@pytest.mark.parametrize("size", SIZES)
def bench_known_vectors(record, size):
    with memory_with_known_vectors(size) as memory:
        record("batch", rates(memory, size, turns=TURNS)._asdict(), embedding="given")


def bench_model(record):
    size = SIZES[0]
    with memory_with_model(size) as memory:
        record(
            "batch",
            rates(memory, size, turns=EMBEDDED_TURNS)._asdict(),
            embedding="MiniLM-L6 int8",
            size=size,
        )
