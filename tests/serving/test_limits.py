"""Token buckets."""

from __future__ import annotations

import pytest

from pi_rank.serving import limits
from pi_rank.serving.limits import RateLimit, caller_of


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_burst_then_rate():
    clock = Clock()
    limit = RateLimit(60, 3, clock)
    assert [limit.take("a") for _ in range(5)] == [0, 0, 0, 1.0, 1.0]
    clock.now += 0.5
    assert limit.take("a") == 0.5
    clock.now += 0.5
    assert limit.take("a") == 0
    clock.now += 1000
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 1.0]


def test_callers_have_buckets_of_their_own():
    limit = RateLimit(60, 1, Clock())
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    assert limit.take("b") == 0


def test_no_limit():
    limit = RateLimit(0, 1, Clock())
    assert [limit.take("a") for _ in range(100)] == [0] * 100


def test_buckets_are_bounded(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CALLERS", 10)
    limit = RateLimit(60, 1, Clock())
    for number in range(1000):
        limit.take(str(number))
    assert len(limit._buckets) == 10


@pytest.mark.parametrize(
    ("address", "caller"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("unknown", "unknown"),
        ("127.0.0.1", "loopback"),
        ("127.3.2.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.9", "loopback"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_callers(address, caller):
    assert caller_of(address) == caller
