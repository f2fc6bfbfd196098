"""Each target of the core with bytes that hypothesis draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pi_rank._core
from tests.campaign.core.feed import Feed
from tests.campaign.core.targets import TARGETS

# Its rows come from a snapshot's own indexes: the memory files' door, with vectors, goes through it.
WITHOUT = {"blend"}


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400))
@example(data=b"")
@example(data=b"\xff" * 400)
def test_a_routine_keeps_its_promises(name, data):
    TARGETS[name](Feed(data))


def test_every_compiled_routine_has_a_target():
    modules = {path.stem for path in Path(pi_rank._core.__file__).parent.glob("*.pyi")}
    assert modules == TARGETS.keys() | WITHOUT
