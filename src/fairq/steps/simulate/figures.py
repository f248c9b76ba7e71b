"""The figures of simulated policies, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.engine.simulation.fairness import HOUR, jain_index
from fairq.formats.trace import Trace
from fairq.steps.simulate.replay import Replay

BOUND = 10
"""Minimum run time in seconds for the bounded slowdown."""


def document(trace: Trace, replays: Sequence[Replay], every: int, window: int) -> dict[str, Any]:
    """Return all figures of *replays* of *trace* as plain data; see docs/json.md."""
    last = trace.jobs[-1].submit
    work = float(sum(job.run * job.cpus for job in trace.jobs))
    weight = replays[0].weight
    span = last - trace.start
    return {
        "start_time": trace.start,
        "zero_time": trace.zero,
        "last_submit_time": last,
        "jobs": len(trace.jobs),
        "users": len({job.user for job in trace.jobs}),
        "groups": len({job.group for job in trace.jobs if job.group}),
        "skipped": dict(sorted(trace.skipped.items())),
        "work": work,
        "slots": replays[0].slots,
        "weight": weight,
        "offered_load": work / (weight * span) if span and weight else None,
        "every": every,
        "window": window,
        "slowdown_bound": BOUND,
        "policies": [_policy(trace, replay, last) for replay in replays],
        "users_by_policy": _by_name(trace, replays, [job.user for job in trace.jobs], "user"),
        "groups_by_policy": _by_name(trace, replays, [job.group for job in trace.jobs], "group"),
        "windows": [entry for replay in replays for entry in _windows(replay, window)],
        "changes": [_change(replays[0], other) for other in replays[1:]],
    }


def _policy(trace: Trace, replay: Replay, last: int) -> dict[str, Any]:
    journal, meter = replay.journal, replay.meter
    waits, slowdowns = journal.waits(), journal.slowdowns(BOUND)
    has_ended = journal.end >= 0
    users = _means(waits, np.array([job.user for job in trace.jobs], np.object_)[has_ended])
    groups = _means(waits, np.array([job.group for job in trace.jobs], np.object_)[has_ended])
    entitled, delivered = meter.totals()
    index, counted = jain_index(entitled, delivered)
    has_share = entitled >= HOUR
    ratios = np.where(has_share, delivered / np.where(has_share, entitled, 1.0), np.inf)
    worst = int(ratios.argmin()) if counted else None
    return {
        "policy": replay.policy.name,
        "ended": int(np.count_nonzero(has_ended)),
        "never_started": int(np.count_nonzero(~journal.started)),
        "started_by_last_submit": int(np.count_nonzero(journal.started & (journal.first_start <= last))),
        "end_time": replay.end,
        "cycles": replay.cycles,
        "wait": _spread(waits),
        "wait_by_user": _spread(np.array(list(users.values()))),
        "wait_by_group": _spread(np.array(list(groups.values()))),
        "slowdown": _spread(slowdowns),
        "utilisation": _utilisation(trace, replay, last),
        "jain_index": index,
        "jain_parties": counted,
        "least_share": None if worst is None else float(ratios[worst]),
        "least_share_of": None if worst is None else meter.parties[worst].name,
        "deficit": float(np.maximum(entitled - delivered, 0.0).sum()) / HOUR,
        "preemptions": int(journal.preemptions.sum()),
        "lost_work": float(journal.lost.sum()) / HOUR,
        "work": float((journal.run * journal.weight)[has_ended].sum()),
    }


def _utilisation(trace: Trace, replay: Replay, last: int) -> float | None:
    capacity = replay.weight * (last - trace.start)
    return replay.journal.busy(trace.start, last) / capacity if capacity else None


def _spread(values: NDArray[np.float64]) -> dict[str, float | None]:
    if not len(values):
        return dict.fromkeys(("mean", "median", "p95", "max"))
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "p95": float(np.percentile(values, 95)),
        "max": float(values.max()),
    }


def _means(values: NDArray[np.float64], names: NDArray[np.object_]) -> dict[str, float]:
    """Return the mean of *values* by name, without missing values."""
    if not len(names):
        return {}
    distinct, indexes = np.unique(names.astype(str), return_inverse=True)
    means = np.bincount(indexes, values, len(distinct)) / np.bincount(indexes, minlength=len(distinct))
    return {name: mean for name, mean in zip(distinct.tolist(), means.tolist(), strict=True) if name}


def _by_name(trace: Trace, replays: Sequence[Replay], names: Sequence[str], member: str) -> list[dict[str, Any]]:
    """Return one record per user or group, sorted by decreasing work."""
    work: dict[str, float] = {}
    jobs: dict[str, int] = {}
    for name, job in zip(names, trace.jobs, strict=True):
        if name:
            work[name] = work.get(name, 0.0) + job.run * job.cpus
            jobs[name] = jobs.get(name, 0) + 1
    all_names = np.array(names, np.object_)
    waits = [_means(replay.journal.waits(), all_names[replay.journal.end >= 0]) for replay in replays]
    shares = [_shares(replay, member) for replay in replays]
    return [
        {
            member: name,
            "jobs": jobs[name],
            "work": work[name] / HOUR,
            "policies": [
                {
                    "policy": replay.policy.name,
                    "mean_wait": mean.get(name),
                    "entitled": None if name not in share else share[name][0] / HOUR,
                    "delivered": None if name not in share else share[name][1] / HOUR,
                }
                for replay, mean, share in zip(replays, waits, shares, strict=True)
            ],
        }
        for name in sorted(work, key=lambda name: (-work[name], name))
    ]


def _shares(replay: Replay, member: str) -> dict[str, tuple[float, float]]:
    shares: dict[str, tuple[float, float]] = {}
    for party, entitled, delivered in zip(replay.meter.parties, *replay.meter.totals(), strict=True):
        name = party.name if member == "user" else party.group
        sums = shares.get(name, (0.0, 0.0))
        shares[name] = (sums[0] + float(entitled), sums[1] + float(delivered))
    if member == "group":
        # A trace may name a group by its last part.
        for name in list(shares):
            shares.setdefault(name.rpartition(".")[2], shares[name])
    return shares


def _windows(replay: Replay, length: int) -> list[dict[str, Any]]:
    entries = []
    for window in replay.meter.windows():
        index, counted = jain_index(window.entitled, window.delivered)
        entitled, delivered = float(window.entitled.sum()), float(window.delivered.sum())
        entries.append(
            {
                "policy": replay.policy.name,
                "start_time": window.start,
                "utilisation": window.utilisation,
                "waiting": replay.journal.waiting(window.start, window.start + length),
                "backlogged": counted,
                "entitled": entitled / HOUR,
                "delivered": delivered / HOUR,
                "deficit": float(np.maximum(window.entitled - window.delivered, 0.0).sum()) / HOUR,
                "jain_index": index,
                "parties": [
                    {
                        "user": party.name,
                        "group": party.group or None,
                        "entitled": float(entitlement) / HOUR,
                        "delivered": float(delivery) / HOUR,
                    }
                    for party, entitlement, delivery in zip(
                        replay.meter.parties, window.entitled, window.delivered, strict=True
                    )
                    if entitlement > 0 or delivery > 0
                ],
            }
        )
    return entries


def _change(base: Replay, other: Replay) -> dict[str, Any]:
    """Return the numbers of jobs that wait longer, shorter and equally long compared with the first policy."""
    both = (base.journal.end >= 0) & (other.journal.end >= 0)
    before = base.journal.end[both] - base.journal.run[both]
    after = other.journal.end[both] - other.journal.run[both]
    return {
        "policy": other.policy.name,
        "longer": int(np.count_nonzero(after > before)),
        "shorter": int(np.count_nonzero(after < before)),
        "same": int(np.count_nonzero(after == before)),
    }
