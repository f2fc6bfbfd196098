"""Memory put into an agent's own configuration, and taken out again: everything else stays byte for byte."""

from __future__ import annotations
