"""What a long-lived process keeps between commands, in the ranking core."""

from __future__ import annotations
