"""What a conversation holds: its messages, and what of ours is in them."""

from __future__ import annotations
