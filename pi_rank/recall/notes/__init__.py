"""What /remember was told: kept in a file of its own, ranked with the memory."""

from __future__ import annotations
