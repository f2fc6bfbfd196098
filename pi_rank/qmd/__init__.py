"""The qmd command line over pi_rank's engine: Markdown collections and memory roots, from cold, warm, and MCP."""

from __future__ import annotations
