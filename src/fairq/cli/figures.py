"""How tables show shares and slot weights; machine formats always carry the values themselves."""

from __future__ import annotations

from fairq.quantities import local

__all__ = ["SLOT", "counted", "duration", "local", "moment", "percent", "share_colour", "short", "two_places"]


def two_places(value: float) -> str:
    """A weight or a priority; what no pool can have is no limit at all."""
    return f"{value:.2f}" if value < 1e12 else "unlimited"


def short(value: float) -> str:
    """A number in as few digits as show it."""
    return f"{value:g}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """So many of something, by its name for one and, if that takes more than an s, for *many*."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def percent(value: float) -> str:
    """A share of 0 to 1."""
    return f"{100 * value:.1f}%"


def duration(seconds: float) -> str:
    """A stretch of time as ``d+hh:mm:ss``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}+{hours % 24:02}:{minute:02}:{second:02}"


def moment(seconds: float) -> str:
    """A time, local, to the minute."""
    return local(seconds).strftime("%Y-%m-%d %H:%M")


SLOT = 0.999
"""The slack of a submitter's share, which is a fraction of slots: less than a slot above or below it is neither."""


def share_colour(in_use: float, entitled: float, *, wants_more: bool, slack: float = 0.0) -> str:
    """Return the colour of a use: yellow above what one is entitled to, cyan below it while more is wanted.

    A difference of *slack* or less is none.
    """
    if in_use > entitled + slack:
        return "yellow"
    return "cyan" if wants_more and in_use < entitled - slack else ""
