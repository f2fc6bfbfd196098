"""What a turn selects: how likely a record belongs, and how much is shown that does not."""

from __future__ import annotations
