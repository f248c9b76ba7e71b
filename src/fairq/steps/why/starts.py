"""The forecast start of a job, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.common.quantities import counted, local


def start_sentence(start: Mapping[str, Any]) -> str:
    """Return a sentence on a job's place in line and start, as in `Forecast.document`, with their assumptions."""
    if start["start_time"] is None:
        earliest = start["horizon_time"] if start["earliest_time"] is None else start["earliest_time"]
        text = f"It does not start before {_moment(earliest)}"
    else:
        place = f"Place {start['place']} of {counted(start['idle'], 'idle job')} in the pool"
        text = f"{place}; it starts about {_moment(start['start_time'])}{_between(start)}"
    return f"{text}, if {'; '.join(start['assumptions'])}."


def _between(start: Mapping[str, Any]) -> str:
    early, late = start["earliest_time"], start["latest_time"]
    if early == late:
        return ""
    if late is None:
        return f" (not before {_moment(early)})"
    return f" (between {_moment(early)} and {_moment(late)})"


def _moment(seconds: float) -> str:
    return local(seconds).strftime("%Y-%m-%d %H:%M")
