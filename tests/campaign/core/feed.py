"""Values out of bytes that a fuzzer makes: the same bytes give the same values, and no bytes the plainest."""

from __future__ import annotations

import numpy as np

KEYS = ["role", "content", "text", "type", "metadata", "injected", "source", "id", "digest", "record_ids"]
KEYS += ["versions", "withdrawn", "rendering", "start", "chars", "toolUse", "cachePoint", "tool_calls"]


class Feed:
    """Bytes, eaten from the front."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def number(self, least, most):
        """A whole number from `least` to `most`."""
        width = max(1, ((most - least).bit_length() + 7) // 8)
        return least + int.from_bytes(self._eaten(width), "little") % (most - least + 1)

    def choice(self, values):
        """One of the values."""
        return values[self.number(0, len(values) - 1)]

    def bytes(self, most):
        """At most so many bytes."""
        return self._eaten(self.number(0, most))

    def text(self, most):
        """A text, in which surrogates may stand alone."""
        return self.bytes(most).decode("utf-8", "surrogateescape")

    def list(self, most, item):
        """At most so many items."""
        return [item() for _ in range(self.number(0, most))]

    def ints(self, length, least, most, dtype=np.int32):
        """An array of so many whole numbers."""
        return np.array([self.number(least, most) for _ in range(length)], dtype)

    def permutation(self, length):
        """int32[length]: each number once."""
        order = list(range(length))
        for at in range(length - 1, 0, -1):
            other = self.number(0, at)
            order[at], order[other] = order[other], order[at]
        return np.array(order, np.int32)

    def value(self, depth=0):
        """A JSON value, with the keys that messages and marks have."""
        kind = self.number(0, 7 if depth < 3 else 4)
        if kind < 3:
            return [None, True, 0][kind]
        if kind == 3:
            return self.choice(["pi", "user", "text", "a", ""])
        if kind == 4:
            return self.text(12)
        if kind == 5:
            return self.list(3, lambda: self.value(depth + 1))
        return {self.choice(KEYS): self.value(depth + 1) for _ in range(self.number(0, 5))}

    def _eaten(self, count):
        part = self._data[self._at : self._at + count]
        self._at += count
        return part
