from __future__ import annotations

from datetime import date

import pytest

from pi_rank.block.staleness import STALE_UNKNOWN, staleness_mark, utc_seconds

TODAY = date(2026, 6, 30)
NOW = utc_seconds(TODAY)


@pytest.mark.parametrize(
    ("updated_at", "mark"),
    [
        ("2026-06-30", ""),
        ("2026-06-01", ""),
        ("2026-05-31", " ⚠️ 30d"),
        ("2026-05-31T23:59:59Z", " ⚠️ 30d"),
        ("2026-06-01T01:00:00+02:00", " ⚠️ 30d"),
        ("2026-05-31T23:00:00-0200", ""),
        ("2026-04-02 00:00", " ⚠️ 89d"),
        (" 2026-04-01T10:00:00.123456789Z\n", " 🔴 90d"),
        ("2026-03-02", " 🔴 120d"),
        ("2030-01-01", ""),
        ("0001-01-01", " 🔴 739796d"),
    ],
)
def test_calendar_days(updated_at, mark):
    assert staleness_mark(updated_at, NOW) == mark


@pytest.mark.parametrize(
    "updated_at",
    [
        None,
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-30",
        "2026-06",
        "20260630",
        "2026-06-30T25:00Z",
        "٢٠٢٦-٠٦-٣٠",
    ],
)
def test_unreadable_is_never_fresh(updated_at):
    assert staleness_mark(updated_at, NOW) == STALE_UNKNOWN == " ⚠️ stale-unknown"
