"""The server: routes over one engine, behind a gate."""

from __future__ import annotations
