"""Commands for coding agents: what stands in their hooks, and how it comes there."""

from __future__ import annotations
