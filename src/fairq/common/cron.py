"""Times of a cron schedule.

Source: HTCondor's manual, "CronTab Scheduling"; ``CronTab``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta

FIELDS = {
    "CronMinute": (0, 59),
    "CronHour": (0, 23),
    "CronDayOfMonth": (1, 31),
    "CronMonth": (1, 12),
    "CronDayOfWeek": (0, 7),
}
"""The attributes of a schedule, each with its smallest and largest number; a missing one allows all numbers."""

_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?", re.ASCII)
_LONGEST = 8 * 366
"""Days after which a schedule is never due: 29 February comes at least every eight years."""

_SUNDAY = 7


def numbers(name: str, text: str) -> frozenset[int]:
    """Return the numbers in *text* (``*``, ``1-5``, ``*/10`` or a list) for the field *name*; raises ValueError."""
    smallest, largest = FIELDS[name]
    result: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise ValueError("give numbers such as 5, 1-5, */10 or 0,30")
        first, last, step = match.groups()
        start = smallest if first is None else int(first)
        end = int(last) if last is not None else largest if first is None else start
        if not smallest <= start <= end <= largest or step in ("0", "00"):
            raise ValueError(f"give numbers from {smallest} to {largest}")
        result.update(range(start, end + 1, int(step or 1)))
    return frozenset(result)


def next_time(fields: Mapping[str, str], after: int) -> int | None:
    """Return the first time of a schedule in a minute *after* this time, in seconds since 1970; None if never.

    *fields* has the attributes of the job. With days of both month and week, either counts. Times are local.
    Raises ValueError.
    """
    minutes, hours, days, months, weekdays = (numbers(name, fields.get(name, "*")) for name in FIELDS)
    is_free = {name: fields.get(name, "*").strip() == "*" for name in FIELDS}

    def is_due(day: date) -> bool:
        of_month, of_week = day.day in days, not weekdays.isdisjoint({day.isoweekday(), day.isoweekday() % _SUNDAY})
        if is_free["CronDayOfMonth"] or is_free["CronDayOfWeek"]:
            return of_month and of_week
        return of_month or of_week

    start = after + 60 - after % 60
    first = datetime.fromtimestamp(start).date()
    for offset in range(_LONGEST):
        day = first + timedelta(days=offset)
        if day.month not in months or not is_due(day):
            continue
        for hour in sorted(hours):
            for minute in sorted(minutes):
                candidate = int(datetime.combine(day, time(hour, minute)).timestamp())
                if candidate >= start:
                    return candidate
    return None
