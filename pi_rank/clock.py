"""The day of a turn: the one look at the calendar. Whatever is below is handed a day."""

from __future__ import annotations

from datetime import date, datetime, timezone


def utc_day(moment: date | None = None) -> date:
    """The day that `moment` falls on in UTC, by which PI names its daily logs; today's where it is None.

    A plain date is itself. A datetime without a zone counts as UTC.
    """
    if moment is None:
        return datetime.now(timezone.utc).date()
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()
    return moment
