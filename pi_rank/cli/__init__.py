"""The `pi-rank` command line: one module per group of commands, listed in program.py."""

from __future__ import annotations

from pi_rank.cli.program import main

__all__ = ["main"]
