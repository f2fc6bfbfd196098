"""Hooks that are tried here leave no warm process behind."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_daemon(monkeypatch):
    monkeypatch.setenv("PI_RANK_DAEMON", "off")
