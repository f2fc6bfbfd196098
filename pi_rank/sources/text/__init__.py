"""How notes are written down: front matter, Markdown, imports."""

from __future__ import annotations
