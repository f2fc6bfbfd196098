"""The warm process of a user, and the first milliseconds of every command, which ask it."""

from __future__ import annotations
