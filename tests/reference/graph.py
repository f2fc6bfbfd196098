"""The walk through an HNSW graph, in plain Python: down to the best node, then on from each kept one."""

from __future__ import annotations

import numpy as np


def similarities(vectors, query):
    """float32[count]: of each vector's int8 codes with the query's int16 codes."""
    width = -(-vectors.shape[1] // 32) * 32
    scale = np.maximum(np.abs(vectors).max(axis=1) / np.float32(127), np.float32(1e-30))
    codes = np.trunc(vectors / scale[:, None] + np.copysign(np.float32(0.5), vectors)).clip(-127, 127)
    step = max(float(np.abs(query).max()) / min(32767, (2**31 - 1) // (127 * width)), 1e-30)
    asked = np.array([round_half_away(value / step) for value in query.tolist()])
    return scale * (codes.astype(np.int64) @ asked).astype(np.float32)


def round_half_away(value):
    return int(np.copysign(np.floor(abs(value) + 0.5), value))


def nearest(links, vectors, query, n):
    """The n nearest nodes that the walk finds, nearest first; equal ones by their number."""
    similar = similarities(vectors, query)
    node, top = links.top.tolist()
    for level in range(top, 0, -1):
        node = climbed(links, similar, node, level)
    kept, expanded, seen = [node], set(), {node}
    while left := [node for node in kept if node not in expanded]:
        expanded.add(left[0])
        fresh = [each for each in links.ground[left[0]].tolist() if each >= 0 and each not in seen]
        seen.update(fresh)
        kept = sorted(kept + fresh, key=lambda node: (-similar[node], node))[:n]
    return kept


def climbed(links, similar, node, level):
    while True:
        neighbours = links.upper[links.upper_begin[node] + level - 1].tolist()
        better = [each for each in neighbours if each >= 0 and similar[each] > similar[node]]
        if not better:
            return node
        node = max(better, key=lambda each: similar[each])
