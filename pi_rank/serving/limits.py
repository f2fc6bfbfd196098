"""Rate limits: a token bucket for each caller, and never one caller's bucket for another."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_CALLERS = 10_000  # buckets kept; the one that was idle longest goes first


class RateLimit:
    """Token buckets by caller: `burst` requests at once, then `per_minute`.

    :param per_minute: 0 means no limit.
    """

    def __init__(self, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """0 where the caller may go on, else the seconds until it may."""
        if self._per_second == 0:
            return 0.0
        now = self._clock()
        tokens, since = self._buckets.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._per_second)
        allowed = tokens >= 1
        self._buckets[caller] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._per_second


def caller_of(address: str) -> str:
    """Whom an address stands for: itself; this machine, for all of loopback; in IPv6 its /64 network, which
    is one household's or machine's; an IPv4 address written as IPv6 for the same in IPv4.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    if parsed.is_loopback:
        return "loopback"
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)
