"""The commands of `pi-rank`: one module each, imported when it is asked for."""

from __future__ import annotations
