"""The gates as tests: `pytest benchmarks/speed/bench_gates.py` fails where a ratio is out of bounds."""

from __future__ import annotations

import pytest

from benchmarks.speed.gates import GATES, NEED_CORES, cores


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.measure.__name__)
def bench_gate(memories, record, gate):
    if gate.measure in NEED_CORES and cores() < 2:
        pytest.skip("needs two cores")
    ratio = gate.measured(memories)
    record("gates", gate.facts(ratio))
    assert gate.holds(ratio), gate.sentence(ratio)
