"""Whole doors: what an installation, a conversation, a server and a command cost."""

from __future__ import annotations
