"""Makes a case that shows a fault smaller while it shows it: delta debugging on JSON values."""

from __future__ import annotations

import time


def reduce_case(case, shows, seconds=30.0):
    """The smallest case found in so many seconds of which `shows(case)` still holds."""
    until = time.monotonic() + seconds
    while True:
        for candidate in simpler(case):
            if time.monotonic() > until:
                return case
            if shows(candidate):
                case = candidate
                break
        else:
            return case


def simpler(value):
    """Values with a part of this one left out or made plain, the largest cuts first."""
    if isinstance(value, str | list):
        for size in _halves(len(value)):
            for start in range(0, len(value), size):
                yield value[:start] + value[start + size :]
    elif isinstance(value, dict):
        for key in value:
            yield {other: member for other, member in value.items() if other != key}
    elif isinstance(value, int | float) and not isinstance(value, bool) and value:
        yield 0
        if isinstance(value, int):
            yield value // 2
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from ([*value[:at], less, *value[at + 1 :]] for less in simpler(item))
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from ({**value, key: less} for less in simpler(member))


def _halves(length):
    while length:
        yield length
        length //= 2
