"""Formatting of shares and slot weights in tables; machine formats always have the exact values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fairq.cli.output import Form
from fairq.cli.output.text import unsigned
from fairq.common.quantities import counted, local, shown_duration

__all__ = [
    "SLOT",
    "counted",
    "duration",
    "known",
    "local",
    "moment",
    "percent",
    "second",
    "share_colour",
    "short",
    "stopped_by",
    "two_places",
    "yes_or_no",
]


def two_places(value: float) -> str:
    """Return a weight or a priority with two decimals; an impossibly large value means no limit."""
    return unsigned(f"{value:.2f}") if value < 1e12 else "unlimited"


def known(value: float | None) -> str:
    """Return a weight or a priority with two decimals; nothing where it is not known."""
    return "" if value is None else two_places(value)


def short(value: float) -> str:
    """Return a number with up to six digits."""
    return unsigned(f"{value:g}")


def percent(value: float) -> str:
    """Return a share of 0 to 1 as a percentage."""
    return unsigned(f"{100 * value:.1f}%")


def yes_or_no(value: object) -> str:
    """Return a truth value in a word."""
    return "yes" if value else "no"


def stopped_by(submitter: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a submitter with the group whose quota stopped it in the reason."""
    group = submitter["quota_group"]
    return dict(submitter) if group is None else {**submitter, "stopped": f"{submitter['stopped']} ({group})"}


def _duration(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}+{hours % 24:02}:{minute:02}:{second:02}"


def _brief_duration(seconds: float) -> str:
    """Return the two largest units of a duration, as ``2h5m``."""
    unit = 1 if seconds < 3600 else 60 if seconds < 86400 else 3600
    return shown_duration(int(seconds) // unit * unit)


duration = Form(_duration, _brief_duration)
"""A duration as ``d+hh:mm:ss``; in brief as ``2h5m``."""


def _local(form: str) -> Callable[[float], str]:
    # Many rows of a table have the same time.
    return lru_cache(1024)(lambda seconds: local(seconds).strftime(form))


moment = Form(_local("%Y-%m-%d %H:%M"), _local("%m-%d %H:%M"))
"""A local time to the minute; in brief without the year."""

second = Form(_local("%Y-%m-%d %H:%M:%S"), _local("%m-%d %H:%M:%S"))
"""A local time to the second; in brief without the year."""


SLOT = 0.999
"""Tolerance of a submitter's share, which is fractional: a difference of less than a slot does not count."""


def share_colour(in_use: float, entitled: float, *, wants_more: bool, slack: float = 0.0) -> str:
    """Return the colour of a use: yellow above the entitlement, cyan below it while more is wanted.

    A difference of *slack* or less does not count.
    """
    if in_use > entitled + slack:
        return "yellow"
    return "cyan" if wants_more and in_use < entitled - slack else ""
