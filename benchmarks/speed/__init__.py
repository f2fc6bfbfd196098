"""Time: of turns, kernels and batches, side by side in one run."""

from __future__ import annotations
