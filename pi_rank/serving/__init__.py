"""What every HTTP server of ours is made of: a gate before its routes, limits, tokens, and a listener."""

from __future__ import annotations
