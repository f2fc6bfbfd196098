"""A home folder of its own for each test of sources."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = (tmp_path / "home").resolve()
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(folder / "cache"))
    monkeypatch.delenv("PI_MEMORY_ROOT", raising=False)
    return folder
