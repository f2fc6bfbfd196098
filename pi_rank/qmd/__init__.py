"""The qmd command over pi_rank's engine: Markdown collections and memory roots, cold, warm, and by MCP."""

from __future__ import annotations
