"""The context block of one turn: what is said about each record, in which section, within how many bytes."""

from __future__ import annotations
