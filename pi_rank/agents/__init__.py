"""Memory in the coding agents that people use: events in, answers out, and what is installed."""

from __future__ import annotations
