"""A unigram tokenizer's best segmentation by its definition: every piece at every place, in plain Python."""

from __future__ import annotations

import math

UNKNOWN_PENALTY = 10


def tokens(text, scores, ids, unknown):
    """Ids of the pieces whose scores add up highest; unknown characters side by side are one.

    Of equal sums the first found wins: cuts are looked at from the left, longer pieces later.
    """
    worst = min(scores.values()) - UNKNOWN_PENALTY
    best = [(-math.inf, 0, None)] * (len(text) + 1)
    best[0] = (0.0, 0, None)
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            piece = text[start:end]
            if piece in scores:
                offer(best, start, end, ids[piece], scores[piece])
            elif end == start + 1:
                offer(best, start, end, unknown, worst)
    found = []
    end = len(text)
    while end:
        _, start, token = best[end]
        if token != unknown or not found or found[-1] != unknown:
            found.append(token)
        end = start
    return found[::-1]


def offer(best, start, end, token, score):
    total = best[start][0] + score
    if total > best[end][0]:
        best[end] = (total, start, token)
