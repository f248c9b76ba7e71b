"""Periods in which usage is counted: hours, and the days, weeks, months and years of the local calendar.

A day with a clock change has 23 or 25 hours: instants are grouped first and named afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct

from fairq.common.quantities import local

HOUR = 3600
KEPT_BY_HOUR = 62 * 86400
"""Seconds for which usage is kept by the hour; older usage is kept by the local day, for ever."""


class Period(Struct, frozen=True):
    """A named period from *start* to *end* (exclusive), in seconds since 1970."""

    label: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def day_start(time: int) -> int:
    """Return the start of the local day of *time*."""
    return _instant(local(time))


@lru_cache(maxsize=4096)
def next_day(time: int) -> int:
    """Return the start of the local day after that of *time*."""
    return _instant(local(time) + timedelta(days=1))


def bucket_start(time: int) -> int:
    """Return the start of the bucket of *time*: a full hour, or a local midnight that is not a full hour."""
    return max(time - time % HOUR, day_start(time))


def bucket_end(time: int) -> int:
    """Return the end of the bucket of *time*."""
    return min(time - time % HOUR + HOUR, next_day(time))


@lru_cache(maxsize=1024)
def parts(start: int, end: int) -> tuple[tuple[int, float], ...]:
    """Return the buckets that overlap the time from *start* to *end*, each with its fraction of that time, 0 to 1.

    The part older than `KEPT_BY_HOUR` at the end is divided by days, as usage is kept.
    """
    buckets = []
    begin = start
    by_day = end - KEPT_BY_HOUR
    while begin < end:
        stop = min(end, next_day(begin) if begin < by_day else bucket_end(begin))
        buckets.append((day_start(begin) if begin < by_day else bucket_start(begin), (stop - begin) / (end - start)))
        begin = stop
    return tuple(buckets)


def periods(kind: str, since: int, until: int) -> Iterator[Period]:
    """Yield the hours, days, weeks, months or years from *since* to *until*, the first and the last one cut to fit."""
    label, step = _KINDS[kind]
    start = since
    while start < until:
        end = min(until, step(start))
        yield Period(label(start), start, end)
        start = end


def month_start(time: int) -> int:
    """Return the start of the local month of *time*."""
    return _instant(local(time).replace(day=1))


def _instant(when: datetime) -> int:
    """Return the first second of the local day of *when*."""
    return int(datetime(when.year, when.month, when.day).timestamp())


def _next_week(time: int) -> int:
    when = local(time)
    return _instant(when + timedelta(days=7 - when.weekday()))


def next_month(time: int) -> int:
    """Return the start of the local month after that of *time*."""
    when = local(time)
    return _instant(datetime(when.year + when.month // 12, when.month % 12 + 1, 1))


def _next_year(time: int) -> int:
    return _instant(datetime(local(time).year + 1, 1, 1))


def _hour(time: int) -> str:
    # With its offset: a clock change repeats an hour, and only the offset differs.
    return local(time).astimezone().isoformat("T", "minutes")


_KINDS: dict[str, tuple[Callable[[int], str], Callable[[int], int]]] = {
    "hour": (_hour, bucket_end),
    "day": (lambda time: f"{local(time):%Y-%m-%d}", next_day),
    "week": (lambda time: "{}-W{:02}".format(*local(time).isocalendar()[:2]), _next_week),
    "month": (lambda time: f"{local(time):%Y-%m}", next_month),
    "year": (lambda time: f"{local(time):%Y}", _next_year),
}
KINDS = tuple(_KINDS)
