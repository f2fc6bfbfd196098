"""Memory that people already have: readers of other programs' notes and rules (docs/sources.md).

A package of yours adds one with an entry point of the group `pi_rank.sources`, a function that takes a
`SourceSpec` and the folder that its relative path is below, and returns `MemorySource`s.
"""

from __future__ import annotations

from pi_rank.memory.sources.protocol import MemorySource, SourceFile, SourceLine, SourceReading, SourceSpec

__all__ = ["MemorySource", "SourceFile", "SourceLine", "SourceReading", "SourceSpec"]
