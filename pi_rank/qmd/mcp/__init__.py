"""The MCP server: tools over memory and Markdown."""

from __future__ import annotations
