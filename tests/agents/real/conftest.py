"""A model, a memory and a home for real agents. See tests/support/agents."""

from __future__ import annotations

from pathlib import Path

import pytest

import pi_rank
from tests.support.agents import homes, model_server


@pytest.fixture
def server():
    with model_server.serving() as running:
        yield running


@pytest.fixture
def memory(tmp_path):
    return homes.memory_copy(tmp_path, Path(pi_rank.__file__).parent / "sample")
