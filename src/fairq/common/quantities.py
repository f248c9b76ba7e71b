"""Sizes, durations, percentages and times: parse the text that users write, and format times.

Options, settings and submit descriptions all parse these values here.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

_SIZE = r"(?ia)(-?\d{1,30}(?:\.\d*)?)\s*(?:([kmgt])i?b?)?"
_BYTES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}

_UNIT = "(?:s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?)"
_PART = rf"\d{{1,15}}(?:\.\d{{1,9}})?\s*{_UNIT}"
_DURATION = rf"(?ia){_PART}(?:\s*{_PART})*"
_LENGTH = r"(?a)(?:(\d{1,4})-)?(\d{1,4}):([0-5]?\d):([0-5]?\d)"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

LONGEST = 253_402_300_799
"""Longest duration in seconds, the span of the calendar."""

LATEST = 7_289_654_399
"""The last second of the year 2200 (UTC). A later time is a mistake, for example milliseconds or extra digits."""

_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_CLOCK = rf"(?ia)({'|'.join(_DAYS)})?\s*(\d\d?:\d\d(?::\d\d)?)?"


class OutsideError(ValueError):
    """A time before 1970 or after 2200."""


def size(text: str, unit: int) -> int | None:
    """Return *text* (``512M``, ``2 GB``, ``1.5TiB``) in units of *unit* bytes, rounded up; None if it is no size.

    K, M, G and T are powers of 1024, as in HTCondor; a bare number is in *unit* already.
    Source: ``parse_int64_bytes``.
    """
    match = re.fullmatch(_SIZE, text.strip())
    if match is None:
        return None
    integer, _, fraction = match[1].partition(".")
    scale = _BYTES[match[2].lower()] if match[2] else unit
    thousandths = int((fraction + "000")[:3])
    thousandths = int(integer) * 1000 + (-thousandths if integer.startswith("-") else thousandths)
    return -(-(thousandths * scale) // (1000 * unit))


def duration(text: str) -> float | None:
    """Return *text* (``90``, ``15m``, ``12h``, ``2 days``, ``1h30m``, ``1-12:00:00``) in seconds; else None."""
    text = text.strip()
    if match := re.fullmatch(_LENGTH, text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if re.fullmatch(r"\d{1,15}", text, re.ASCII):
        return int(text)
    if not re.fullmatch(_DURATION, text):
        return None
    parts = re.findall(r"([\d.]+)\s*([a-z])", text.lower())
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def percentage(text: str) -> float | None:
    """Return ``50%`` as 0.5; None if *text* is not a percentage."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{0,15})?)\s*%", text.strip(), re.ASCII)
    return float(match[1]) / 100 if match else None


def moment(text: str, now: int) -> int | None:
    """Return *text* in seconds since 1970, None if it is no time.

    A time is a number of seconds, ISO 8601, ``10:30`` (today), ``now``, ``today``, ``yesterday`` or ``tomorrow``
    (their beginning, or with a time of day), or relative to *now* (``-1h``, ``+30m``, ``now+2hours``). It is
    local where it has no zone. Raises OutsideError.
    """
    text = text.strip()
    if re.fullmatch(r"-?\d+(\.\d*)?", text, re.ASCII):
        digits = text.partition(".")[0].lstrip("-0")
        return _inside(-1 if text.startswith("-") else int(digits or 0) if len(digits) < 12 else LATEST + 1)
    if text.lower() == "now":
        return now
    text = re.sub(r"(?i)^now\s*(?=[+-])", "", text)
    if text[:1] in ("-", "+") and (distance := duration(text[1:])) is not None:
        return _inside(now + int(-distance if text[0] == "-" else distance))
    try:
        if text and (match := re.fullmatch(_CLOCK, text)):
            instant = datetime.combine(_day(match[1], now), _time_of_day(match[2]))
        else:
            instant = datetime.fromisoformat(text)
        return _inside(int(instant.timestamp()) if 1969 <= instant.year <= 2201 else -1)
    except OutsideError:
        raise
    except (ValueError, OverflowError, OSError):
        return None


def upcoming(text: str, now: int) -> int | None:
    """Return *text* as `moment` does; a time of day alone that has passed *now* is tomorrow's."""
    seconds = moment(text, now)
    is_clock = re.fullmatch(r"\d\d?:\d\d(?::\d\d)?", text.strip(), re.ASCII) is not None
    return moment(f"tomorrow {text.strip()}", now) if is_clock and seconds is not None and seconds < now else seconds


def _inside(seconds: int) -> int:
    if not 0 <= seconds <= LATEST:
        raise OutsideError
    return seconds


def _day(word: str | None, now: int) -> date:
    return local(now).date() + timedelta(days=_DAYS[word.lower()] if word else 0)


def _time_of_day(text: str | None) -> time:
    if not text:
        return time()
    hour, minute, second = map(int, f"{text}:0".split(":")[:3])
    return time(hour, minute, second)


_FIRST_DAY, _LAST_DAY = -62_135_510_400, 253_402_214_400
"""0001-01-02 and 9999-12-31, start of day in UTC: days that the calendar has in every time zone."""


def local(seconds: float) -> datetime:
    """Return a time in the local zone; a number outside the calendar becomes the nearest end of the calendar."""
    return datetime.fromtimestamp(max(_FIRST_DAY, min(seconds, _LAST_DAY)))


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun: *singular* for 1, else *plural*, by default *singular* with an s."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def rounded(value: float) -> str:
    """Return a number for a sentence: a whole or large number without decimals, another one with three digits."""
    return f"{value:.0f}" if (value % 1 == 0 and abs(value) < 1e15) or 100 <= abs(value) < 1e15 else f"{value:.3g}"


def shown_time(seconds: float) -> str:
    """Return a time for messages: ISO 8601, local, to the second."""
    return local(seconds).isoformat(" ", "seconds")


def shown_duration(seconds: int) -> str:
    """Return a duration in the format that `duration` reads: ``7d``, ``1h30m``, ``45s``."""
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
