"""The samples of a cycle for reports and charts: waiting jobs, entitlements and priorities."""

from __future__ import annotations

from fairq.common.periods import KEPT_BY_HOUR, day_start, next_day
from fairq.engine.negotiation.decision import CycleDecision, SubmitterDecision
from fairq.state import usage
from fairq.state.connection import State
from fairq.state.usage import Sample

POOL = ""
"""The name of the pool among those of submitters."""

CYCLE_SECONDS = "last_cycle_seconds"
"""The state's key of the duration of the last cycle, up to the end of its transaction."""

_DAYS_AT_ONCE = 3


def sample_cycle(state: State, decision: CycleDecision, weight_in_use: float, now: int) -> None:
    """Store the samples of *decision*; *weight_in_use* is the weight of the slots in use after it."""
    samples: dict[str, Sample] = {}
    for submitter in decision.submitters:
        samples[submitter.submitter] = _combined(samples.get(submitter.submitter), _sample(submitter))
    idle = sum(sample.idle for sample in samples.values())
    running = sum(sample.running for sample in samples.values())
    samples[POOL] = Sample(decision.pie, True, idle, running, 0.0, weight_in_use)
    usage.replace_samples(state, now, samples)
    _merge_old_hours(state, now)


def _sample(submitter: SubmitterDecision) -> Sample:
    """Return the sample of one queue of a submitter after its turn; its entitlement is at most its demand."""
    in_use = submitter.used_before + submitter.matched_weight
    running = submitter.running + submitter.matched
    idle = max(0, submitter.idle - submitter.matched)
    weight_per_job = in_use / running if running else 1.0
    return Sample(
        min(submitter.limit, in_use + idle * weight_per_job), idle > 0, idle, running, submitter.effective_priority
    )


def _combined(former: Sample | None, sample: Sample) -> Sample:
    """Return the sample of a submitter with several queues or turns: add up the jobs, take the largest share."""
    if former is None:
        return sample
    return Sample(
        max(former.entitled, sample.entitled),
        former.wants or sample.wants,
        former.idle + sample.idle,
        former.running + sample.running,
        sample.priority,
    )


def _merge_old_hours(state: State, now: int) -> None:
    """Merge old hourly samples into one bucket per day; charges stay exact."""
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
