"""References of what selection compiles."""

from __future__ import annotations
