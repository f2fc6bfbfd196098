"""How old a record is, and the mark that says so."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache

STALE_DAYS = 30
VERY_STALE_DAYS = 90
STALE_UNKNOWN = " ⚠️ stale-unknown"

_DAY_SECONDS = 86_400
_WRITTEN_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)


def staleness_mark(updated_at: str | None, now: float) -> str:
    """What stands behind the confidence: nothing, ` ⚠️ 45d`, ` 🔴 120d`, or the mark of an unreadable date.

    `now` is in seconds since 1970 (see `utc_seconds`). Days are whole days of 24 hours in UTC; a date in the
    future is fresh, one that cannot be read, or that is missing, never is.
    """
    written = _written_seconds(updated_at) if updated_at else None
    if written is None:
        return STALE_UNKNOWN
    days = int((now - written) // _DAY_SECONDS)
    if days >= VERY_STALE_DAYS:
        return f" 🔴 {days}d"
    return f" ⚠️ {days}d" if days >= STALE_DAYS else ""


def utc_seconds(today: date) -> float:
    """The last second of a day in UTC, since 1970: ages counted to it are differences of calendar days."""
    return float((today.toordinal() - date(1970, 1, 1).toordinal() + 1) * _DAY_SECONDS - 1)


@lru_cache(maxsize=16_384)
def _written_seconds(text: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 date or date and time (UTC unless it says otherwise), or None."""
    match = _WRITTEN_DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return moment.timestamp() - _offset(match.group(7)).total_seconds()


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    size = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -size if zone[0] == "-" else size
