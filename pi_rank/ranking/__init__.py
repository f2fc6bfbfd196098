"""Ranking: who is found by words, by meaning, by both, and who is chosen."""

from __future__ import annotations
