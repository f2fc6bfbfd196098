"""What is said of many timings: over the arguments the quantiles of each one's best, and those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def summary(seconds: Sequence[float], arguments: int) -> dict[str, float | int]:
    """Microseconds, from timings in passes over `arguments` arguments.

    `p50` and `p99` are over the arguments, of the best timing of each: what the work takes. `p50_all` and
    `p99_all` are over all timings: what the machine made of it while other programs ran.
    """
    passes = np.array(seconds).reshape(-1, arguments) * 1e6
    each = passes.min(axis=0)
    return {
        "p50": _quantile(each, 50),
        "p99": _quantile(each, 99),
        "p50_all": _quantile(passes, 50),
        "p99_all": _quantile(passes, 99),
        "arguments": arguments,
        "passes": len(passes),
    }


def _quantile(values: np.ndarray, percent: float) -> float:
    return round(float(np.percentile(values, percent)), 2)
