"""The running limits and matching delays of all sites: running jobs, limits, and remaining delays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.engine.shares.limits import CES, delayed, running_limits
from fairq.state.connection import reading
from fairq.steps.taskqueues.pilots import SiteLoad, load_site
from fairq.steps.taskqueues.policy import share_policy

if TYPE_CHECKING:
    from fairq.settings import Settings

Record = dict[str, Any]


def site_limits(path: Path, settings: Settings, now: int) -> list[Record]:
    """Return the limits and delays of every site that has any, by site, CE, attribute and value.

    Raises ShareCorrectionError for a limit or delay that is not a number.
    """
    with reading(path) as state:
        policy = share_policy(settings, state)
        scheduling = policy.job_scheduling
        sites = sorted({*scheduling["RunningLimit"], *scheduling["MatchingDelay"]})
        loads = [load_site(state, policy, site) for site in sites]
    return [record for load in loads for record in _records_of_site(load, now)]


def _records_of_site(load: SiteLoad, now: int) -> Iterator[Record]:
    policy = load.policy
    ce_options = policy.job_scheduling["RunningLimit"].get(load.site, {}).get(CES, {})
    records: dict[tuple[str, str, str], Record] = {}

    def record(ce: str | None, attribute: str, value: str) -> Record:
        blank = {"running": None, "limit": None, "reached": False, "delay": None, "burst": None, "delay_left": None}
        key = ce or "", attribute, value
        return records.setdefault(key, {"site": load.site, "ce": ce, "attribute": attribute, "value": value, **blank})

    for ce in (None, *sorted(ce_options)):
        for limit in running_limits(policy.job_scheduling, load.site, ce, load.count, policy.rules).limits:
            record(limit.ce, limit.attribute, limit.value).update(
                running=limit.running, limit=limit.limit, reached=limit.is_reached
            )
    delays, _ = load.delays()
    waits = delayed(delays, load.buckets, now)
    for kind, delay in delays.items():
        record(None, *kind).update(
            running=load.count(kind[0], None).get(kind[1], 0),
            delay=delay.seconds, burst=delay.burst, delay_left=waits.get(kind, 0.0),
        )  # fmt: skip
    yield from (records[key] for key in sorted(records))
