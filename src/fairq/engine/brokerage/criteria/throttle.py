"""Checks of an analysis task before those of queues: caps, classes, quotas, input (docs/panda.md, Analysis)."""

from __future__ import annotations

from typing import NamedTuple

from fairq.engine.brokerage.criteria.sources import analysis_sources_of
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.outcome import Status
from fairq.engine.brokerage.flow.plugin import Details, Reason
from fairq.engine.brokerage.pool.world import UserTotals

QUEUED_FACTOR = 2
"""Queued jobs or cores allowed for each one that may run."""

USER_SHARE = "User Analysis"
TOP_SHARE = "L1 User Analysis"
"""The share that is throttled by class, and its parent, whose usage counts if it is lower."""

CLASS_A, CLASS_B, CLASS_C = 1, 0, -1
CLASS_LIMITS = {CLASS_C: 90.0, CLASS_B: 95.0, CLASS_A: 100.0}
"""Per cent of the share's target above which tasks of a class wait."""

_CLASS_TAGS = {CLASS_C: "share_class_C", CLASS_B: "share_class_B", CLASS_A: "share_class_A"}

STOPS = (
    Reason("cap_running_jobs", permanent=False),
    Reason("cap_queued_jobs", permanent=False),
    Reason("cap_running_cores", permanent=False),
    Reason("cap_queued_cores", permanent=False),
    Reason("share_class_C", permanent=False),
    Reason("share_class_B", permanent=False),
    Reason("share_class_A", permanent=False),
    Reason("global_quota", permanent=False),
    Reason("global_quota_near", permanent=False),
    Reason("incomplete_input", permanent=False),
)


class Stop(NamedTuple):
    """The reason that stops a task, the numbers compared, and its next status."""

    tag: str
    details: Details
    status: Status


def stop_of(ask: Ask) -> Stop | None:
    """Return the first of `STOPS` that stops the task; None if none does."""
    return _over_cap(ask) or _over_share(ask) or _over_quota(ask) or _without_input(ask)


def _over_cap(ask: Ask) -> Stop | None:
    if ask.chunk.is_merging:
        return None
    task, config = ask.task, ask.config
    owner = task.working_group or task.user or ""
    total = ask.pool.world.user_totals.get(owner, UserTotals())
    kind = "GROUP" if task.working_group else "USER"
    for unit, running, queued in (
        ("jobs", total.running_jobs, total.queued_jobs),
        ("cores", total.running_cores, total.queued_cores),
    ):
        cap = config.amount(f"prio_mgr.CAP_RUNNING_{kind}_{unit.upper()}")
        details: Details = {"owner": owner, f"CAP_RUNNING_{kind}_{unit.upper()}": cap}
        if cap and running > cap:
            return Stop(f"cap_running_{unit}", details | {"running": running}, "waiting")
        if cap and queued > QUEUED_FACTOR * cap:
            return Stop(f"cap_queued_{unit}", details | {"limit": QUEUED_FACTOR * cap, "queued": queued}, "waiting")
    return None


def _over_share(ask: Ask) -> Stop | None:
    task, world = ask.task, ask.pool.world
    used, task_class = world.share_usage.get(USER_SHARE), world.task_classes.get(task.task_id)
    if not ask.rules.share_classes or task.gshare != USER_SHARE or used is None or task_class not in CLASS_LIMITS:
        return None
    percent = 100 * min(used, world.share_usage.get(TOP_SHARE, used))
    limit = CLASS_LIMITS[task_class]
    details: Details = {"share_usage": percent, "limit": limit}
    if task_class == CLASS_A:
        remaining = world.remaining_slots.get(task.user or "")
        threshold = ask.config.amount("analy_eval.USER_USAGE_THRESHOLD_A")
        part = 0.5 if remaining is None or not threshold else 1 - remaining / threshold
        percent *= part
        details |= {"user": task.user, "user_slots_used": part}
    return Stop(_CLASS_TAGS[task_class], details, "waiting") if percent > limit else None


def _over_quota(ask: Ask) -> Stop | None:
    owner = ask.task.working_group or ask.task.user or ""
    quota, rules = ask.pool.world.quotas.get(owner), ask.rules
    near = rules.quota_near and not ask.chunk.is_merging
    if quota is None or (quota.ok and not (quota.near and near)):
        return None
    status: Status = "waiting" if rules.quota_throttles else "failed"
    return Stop("global_quota_near" if quota.ok else "global_quota", {"owner": owner}, status)


def _without_input(ask: Ask) -> Stop | None:
    missing = analysis_sources_of(ask).stop
    return None if missing is None else Stop("incomplete_input", missing, "failed")
