"""PI's memory files: what they say, and nothing else. Read, never written."""

from __future__ import annotations
