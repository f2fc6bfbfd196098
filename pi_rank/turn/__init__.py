"""One turn: what applies, in which order, and what is taken of it."""

from __future__ import annotations
