"""Generated statements: a Zipf vocabulary with English inflections, from a fixed seed."""

from __future__ import annotations

import itertools
import random

_ENDINGS = ("", "s", "ed", "ing", "er", "ation", "ness")


class Writer:
    """Draws (statement, tags) pairs and prompts from one vocabulary."""

    def __init__(self, seed, n_words=3_000):
        self._random = random.Random(seed)
        self._words = [self._word() for _ in range(n_words)]
        self._weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(n_words)))

    def _word(self):
        syllables = [self._random.choice("bcdfglmnprst") + self._random.choice("aeiou") for _ in range(3)]
        return "".join(syllables[: self._random.randint(1, 3)]) + "t" + self._random.choice(_ENDINGS)

    def prompt(self, n_words):
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=n_words))

    def texts(self, n):
        return [(self.prompt(self._random.randint(3, 25)), self.prompt(2)) for _ in range(n)]

    def rows(self, live, n):
        """n different live rows."""
        return self._random.sample(live, n)
