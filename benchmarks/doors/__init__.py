"""Whole doors: what a conversation, a server and a command cost."""

from __future__ import annotations
