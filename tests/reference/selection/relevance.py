"""The relevance of a ranking's rows by its definition, one at a time."""

from __future__ import annotations

import math


def evidence(cosines, coverage, applies, words, read):
    """What speaks for each row."""
    return [
        max(0.02, read * cosine + 0.5 * words / (words + 1) * share) + 0.5 * wanted
        for cosine, share, wanted in zip(cosines, coverage, applies, strict=True)
    ]


def relevance(cosines, coverage, applies, words, read, intercept, own, best):
    """[0 to 1], one for each row."""
    found = evidence(cosines, coverage, applies, words, read)
    return [
        1 / (1 + math.exp(-(intercept + own * math.log(one) + best * math.log(one / max(found)))))
        for one in found
    ]
