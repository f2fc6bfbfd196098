"""A home folder of its own for each test."""

from __future__ import annotations

from tests.sources.conftest import home

__all__ = ["home"]
