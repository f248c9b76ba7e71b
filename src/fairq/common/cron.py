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
"""The attributes of a schedule, each with its least and its largest number; without one, each number counts."""

_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?", re.ASCII)
_LONGEST = 8 * 366
"""Days after which a schedule is never due: the 29th of February is there every four years, but for 2100."""

_SUNDAY = 7


def numbers(name: str, text: str) -> frozenset[int]:
    """Return the numbers that the field *name* has in *text*: ``*``, ``1-5``, ``*/10`` or a list; raises ValueError."""
    least, largest = FIELDS[name]
    found: set[int] = set()
    for part in text.split(","):
        fit = _PART.fullmatch(part.strip())
        if fit is None:
            raise ValueError("give numbers such as 5, 1-5, */10 or 0,30")
        first, last, step = fit.groups()
        begin = least if first is None else int(first)
        end = int(last) if last is not None else largest if first is None else begin
        if not least <= begin <= end <= largest or step in ("0", "00"):
            raise ValueError(f"give numbers from {least} to {largest}")
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


def next_time(fields: Mapping[str, str], after: int) -> int | None:
    """Return the first time of a schedule *after* the running minute, in seconds since 1970; None: there is none.

    *fields* has the attributes that are given. With days of the month and of the week, either counts. Times are local.
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
    for number in range(_LONGEST):
        day = first + timedelta(days=number)
        if day.month not in months or not is_due(day):
            continue
        for hour in sorted(hours):
            for minute in sorted(minutes):
                when = int(datetime.combine(day, time(hour, minute)).timestamp())
                if when >= start:
                    return when
    return None
