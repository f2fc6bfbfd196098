"""Plain-Python oracles of the compiled routines: slow, short and meant to be seen right."""

from __future__ import annotations
