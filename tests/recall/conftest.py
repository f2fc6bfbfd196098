"""Fixtures of the tests of recall."""

from __future__ import annotations

import pytest

from tests.recall.roots import write_root


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from tests.recall.served import running

    folder = tmp_path_factory.mktemp("served")
    write_root(folder / "root")
    with running(folder, "--rate", "0") as started:
        yield started


@pytest.fixture
def memory(tmp_path):
    """A folder with a memory root in it, to serve."""
    write_root(tmp_path / "root")
    return tmp_path
