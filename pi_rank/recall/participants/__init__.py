"""Participants of a conversation, each turn fenced off from what memory holds."""

from __future__ import annotations
