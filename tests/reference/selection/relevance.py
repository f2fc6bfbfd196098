"""The relevance of a ranking's rows by its definition, one at a time."""

from __future__ import annotations

import math


def relevance(cosines, coverage, words, read, intercept, evidence, best):
    """[0 to 1], one for each row."""
    found = [
        max(0.02, read * cosine + 0.5 * words / (words + 1) * share)
        for cosine, share in zip(cosines, coverage, strict=True)
    ]
    return [
        1 / (1 + math.exp(-(intercept + evidence * math.log(one) + best * math.log(one / max(found)))))
        for one in found
    ]
