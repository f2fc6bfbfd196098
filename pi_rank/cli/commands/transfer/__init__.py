"""Memory from other forms into a new root, and out of one."""

from __future__ import annotations
