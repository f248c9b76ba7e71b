"""What a cycle leaves for reports and pictures: who waits, who is entitled to what, at which priority."""

from __future__ import annotations

from fairq.common.periods import KEPT_BY_HOUR, day_start, next_day
from fairq.engine.negotiation.decision import CycleDecision, SubmitterDecision
from fairq.state import usage, usage_samples
from fairq.state.connection import State
from fairq.state.usage_samples import Sample

POOL = ""
"""The name of the pool among those of submitters."""

CYCLE_SECONDS = "last_cycle_seconds"
"""Where the state keeps how long the last cycle took, up to the end of its transaction."""

_DAYS_AT_ONCE = 3


def sample_cycle(state: State, decision: CycleDecision, weight_in_use: float, now: int) -> None:
    """Keep what *decision* found; *weight_in_use* is the weight of the slots in use after it."""
    samples: dict[str, Sample] = {}
    for one in decision.submitters:
        samples[one.submitter] = _joined(samples.get(one.submitter), _sample(one))
    idle = sum(one.idle for one in samples.values())
    running = sum(one.running for one in samples.values())
    samples[POOL] = Sample(decision.pie, True, idle, running, 0.0, weight_in_use)
    usage_samples.replace(state, now, samples)
    _thin(state, now)


def _sample(one: SubmitterDecision) -> Sample:
    """Return what one queue of a submitter has after its turn; it is entitled to no more than it wants."""
    has = one.used_before + one.matched_weight
    running = one.running + one.matched
    left = max(0, one.idle - one.matched)
    each = has / running if running else 1.0
    return Sample(min(one.limit, has + left * each), left > 0, left, running, one.effective_priority)


def _joined(former: Sample | None, one: Sample) -> Sample:
    """Return the sample of a submitter with several queues, or turns: jobs add up, the share does not."""
    if former is None:
        return one
    return Sample(
        max(former.entitled, one.entitled),
        former.wants or one.wants,
        former.idle + one.idle,
        former.running + one.running,
        one.priority,
    )


def _thin(state: State, now: int) -> None:
    """Make one bucket of each day that is long past; what was charged stays exact."""
    thinned = usage.thinned_until(state)
    for _ in range(_DAYS_AT_ONCE):
        start = usage.first_start_after(state, thinned)
        if start is None:
            break
        day = day_start(start)
        thinned = next_day(start)
        if thinned > now - KEPT_BY_HOUR:
            break
        usage.merge(state, day, thinned)
        usage.keep_thinned_until(state, thinned)
