"""Whether a job may start without a change, and its forecast start as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.common.quantities import counted, local
from fairq.engine.classad import expression_of, parse
from fairq.engine.classad.references import Side, UnknownAd, closure
from fairq.engine.explain.diagnosis import Diagnosis, Reason
from fairq.engine.negotiation.evaluation import ADDED
from fairq.steps.pool.claimed_ads import ALWAYS, IF_KNOWN

_NEVER = frozenset(
    {
        Reason.EMPTY_POOL,
        Reason.SUBMITTER_CONSTRAINT,
        Reason.JOB_CONSTRAINT,
        Reason.SLOT_CONSTRAINT,
        Reason.DRAINING,
        Reason.UNUSABLE,
    }
)
"""Reasons that do not change by waiting."""

_CHANGING = ADDED | {name.lower() for name in (*ALWAYS, *IF_KNOWN)}
"""Attributes that change as jobs start and end."""


def may_start_later(diagnosis: Diagnosis) -> bool:
    """Return whether waiting may let the job start; Requirements that nothing changes stay as they are."""
    job = diagnosis.context.ad()
    if diagnosis.reason is Reason.JOB_REQUIREMENTS:
        requirements = Side.AD, expression_of(job.get("requirements")).node
    elif diagnosis.reason is Reason.SLOT_REQUIREMENTS:
        requirements = Side.COLUMNS, parse("Requirements").node
    else:
        return diagnosis.reason not in _NEVER
    reads = closure([requirements], UnknownAd([job], diagnosis.outcome.input.pool.ads))
    return reads.everything or reads.clock or any(name in _CHANGING for _, name in reads.read)


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
