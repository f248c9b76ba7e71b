"""Jobs that wait for other jobs, for a time, or for a cap of their cluster: no cycle sees them until they are idle.

Their status changes with an event: a job ends, a time comes, a job is released. Records that the history deletes later
change nothing, because the conditions themselves hold the counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from fairq.common.procs import Procs
from fairq.common.quantities import counted, shown_time
from fairq.common.records import UNUSABLE, JobRange, JobStatus
from fairq.common.waits import AFTER_FAILED, UNMET, JobAfter, JobCap, JobWait, category_name
from fairq.state import jobs, runs, waits
from fairq.state.connection import State
from fairq.steps.jobs.conditions import is_cron, times_of
from fairq.steps.launch.holds import store_holds
from fairq.steps.launch.outcome import LATE, MISSED
from fairq.steps.launch.values import UnusableValueError

WAITS_FOR = "WaitsFor"
"""The attribute with the reason for which a job waits."""

_SHOWN = 2
"""Number of conditions that are named."""


class Ended(NamedTuple):
    """Procs of a cluster of fairq's own queue that have ended, all with success or all without."""

    cluster: int
    first_proc: int
    last_proc: int
    failed: bool


def release_followers(state: State, ended: Iterable[Ended], now: int) -> None:
    """Make the jobs idle that waited only for the *ended* ones; hold those whose condition cannot come true."""
    if not waits.is_waited_for(state):
        return
    touched: dict[int, JobAfter] = {}
    opened: list[tuple[int, int, int]] = []
    decided: set[tuple[int, int]] = set()
    in_vain: set[int] = set()
    for ended_jobs in ended:
        for number, condition in waits.of_others(state, *ended_jobs[:3]):
            after = touched.setdefault(number, condition)
            was_open = after.is_met is None
            count = _overlap(after, ended_jobs)
            after.left = max(0, after.left - count)
            after.failed += count if ended_jobs.failed else 0
            if not was_open or after.is_met is None:
                continue
            if after.is_met:
                opened.append((after.cluster, after.first_proc, -1))
                decided.add((after.cluster, after.first_proc))
            else:
                in_vain.add(after.cluster)
    waits.count_on(state, touched.items())
    waits.open_by(state, opened)
    settle(state, {key[0] for key in decided if not waits.at(state, *key).open} | in_vain, now)


def restore_followers(state: State, returned: Iterable[Procs], since: int, now: int) -> str | None:
    """Make the jobs wait again that waited for the *returned* ones, which were removed at the time *since*.

    Return why this is impossible; None if it is done.
    """
    touched: dict[int, JobAfter] = {}
    opened: list[tuple[int, int, int]] = []
    for procs in returned:
        if procs.schedd:
            continue
        for number, condition in waits.of_others(state, *procs[1:]):
            after = touched.setdefault(number, condition)
            was_met = after.is_met
            count = _overlap(after, Ended(*procs[1:], failed=True))
            after.left, after.failed = after.left + count, max(0, after.failed - count)
            if was_met is None or after.is_met is not None:
                continue
            if was_met:
                opened.append((after.cluster, after.first_proc, 1))
            wait = waits.at(state, after.cluster, after.first_proc)
            if (started := _started(state, wait, since)) is not None:
                return f"job {started}, which waited for it, has started since"
            for job in _within(state, wait, (JobStatus.HELD,)):
                if job.hold_code == UNMET:
                    jobs.set_status(state, [job.procs], JobStatus.WAITING, now)
    waits.count_on(state, touched.items())
    waits.open_by(state, opened)
    settle(state, {cluster for cluster, _, _ in opened}, now)
    return None


def _overlap(after: JobAfter, ended: Ended) -> int:
    return min(after.other_last, ended.last_proc) - max(after.other_first, ended.first_proc) + 1


def _started(state: State, wait: JobWait, since: int) -> str | None:
    """Return a job of a *wait* that runs, or has run after *since*; None if there is none."""
    running = (job.first_proc for job in _within(state, wait, (JobStatus.RUNNING,)))
    former_runs = (run.proc for run in runs.load(state, cluster=wait.cluster) if run.start_time >= since)
    proc_started = next((proc for proc in (*running, *former_runs) if proc in wait.numbers), None)
    return None if proc_started is None else f"{wait.cluster}.{proc_started}"


def is_due(state: State, now: int) -> bool:
    """Return whether `settle_due` may have something to do."""
    return bool(waits.begun(state, now) or waits.missed(state, now) or waits.capped(state) or waits.admitted(state))


def settle_due(state: State, now: int) -> None:
    """Make the jobs idle whose time has come and those that their caps permit; hold those that are too late."""
    clusters = {*waits.begun(state, now), *waits.capped(state)}
    waits.forget_begun(state, now)
    settle(state, clusters, now)
    settle(state, waits.admitted(state), now)
    for wait in waits.missed(state, now):
        late = list(_within(state, wait, (JobStatus.IDLE, JobStatus.WAITING)))
        store_holds(state, late, LATE, MISSED, now)


def settle_released(state: State, ranges: Sequence[JobRange], now: int) -> None:
    """Settle *ranges* of jobs that were held and are idle now; those held for a condition ignore it from now on."""
    for job in ranges:
        if job.hold_code == UNMET:
            cluster_waits = waits.of_cluster(state, job.cluster)
            waits.waive(state, [wait for wait in cluster_waits if wait.part(job.first_proc, job.last_proc)])
    schedule_next(state, ranges, now)
    settle(state, {job.cluster for job in ranges if not job.schedd}, now)


def schedule_next(state: State, ranges: Iterable[JobRange], now: int) -> None:
    """Set the next time of cron for those jobs in *ranges* that start at such times."""
    ranges = [job for job in ranges if not job.schedd]
    shared = jobs.ads(state, {job.ad_id for job in ranges})
    for job in ranges:
        if not is_cron(job.ad_of(shared[job.ad_id], job.first_proc)):
            continue
        for wait in waits.of_cluster(state, job.cluster):
            part = job.part(wait.first_proc, wait.last_proc)
            if part is None:
                continue
            try:
                wait.begin, wait.deadline = times_of(job.ad_of(shared[job.ad_id], wait.first_proc), now)
            except UnusableValueError as error:
                store_holds(state, [part], str(error), UNUSABLE, now)
            waits.set_times(state, wait)
        settle(state, [job.cluster], now)


def settle(state: State, clusters: Collection[int], now: int) -> None:
    """Make jobs of *clusters* idle or waiting as conditions and caps permit; hold those with failed conditions."""
    for cluster in waits.concerned(state, clusters):
        _settle(state, cluster, now)


def _settle(state: State, cluster: int, now: int) -> None:
    ranges = jobs.select(state, cluster=cluster, schedd="", statuses=(JobStatus.IDLE, JobStatus.WAITING))
    for wait in waits.of_cluster(state, cluster):
        if wait.waived or not (wait.open or wait.begin is not None):
            continue
        bounds = wait.first_proc, wait.last_proc
        waiting_ranges = [part for job in ranges if (part := job.part(*bounds))]
        ranges = [part for job in ranges for part in job.without([bounds])]
        failed = (
            next((condition for condition in waits.conditions(state, wait) if condition.is_met is False), None)
            if wait.open
            else None
        )
        if failed is not None:
            store_holds(state, waiting_ranges, _failure_reason(failed), UNMET, now)
        else:
            _change(state, [job for job in waiting_ranges if job.status == JobStatus.IDLE], JobStatus.WAITING, now)
    free = _free_places(state, waits.cap(state, cluster))
    order = sorted(ranges, key=lambda job: (job.status != JobStatus.IDLE, -job.priority, job.first_proc))
    to_idle, to_wait = [], []
    for job in order:
        fits = int(min(len(job), max(0, free)))
        free -= fits
        if fits and job.status != JobStatus.IDLE:
            to_idle.append(replace(job, last_proc=job.first_proc + fits - 1))
        if fits < len(job) and job.status == JobStatus.IDLE:
            to_wait.append(replace(job, first_proc=job.first_proc + fits))
    _change(state, to_idle, JobStatus.IDLE, now)
    _change(state, to_wait, JobStatus.WAITING, now)


def _free_places(state: State, cap: JobCap | None) -> float:
    """Return the number of jobs of a cluster that may be idle."""
    if cap is None:
        return inf
    counts = jobs.counts_of(state, cap.cluster)
    running, held = counts.get(JobStatus.RUNNING, 0), counts.get(JobStatus.HELD, 0)
    in_queue = running + held + counts.get(JobStatus.COMPLETED, 0)
    is_first = not (in_queue or counts.get(JobStatus.IDLE))
    if cap.category is not None and is_first and waits.in_use(state, cap.category) >= (cap.clusters or 0):
        return 0
    return cap.idle_allowance(running, in_queue)


def _change(state: State, ranges: Sequence[JobRange], status: JobStatus, now: int) -> None:
    if ranges:
        jobs.set_status(state, (job.procs for job in ranges), status, now)


def _failure_reason(after: JobAfter) -> str:
    """Return why a condition can never come true."""
    is_one = after.other_first == after.other_last
    if after.how == AFTER_FAILED:
        cause = f"job {after.others} succeeded" if is_one else f"no job of {after.others} failed"
    else:
        cause = f"job {after.others} failed" if is_one else f"{after.failed} of the jobs failed"
    return f"{after.how} {after.others} can never come true: {cause}"


def _within(state: State, wait: JobWait, statuses: Collection[int]) -> Iterator[JobRange]:
    for job in jobs.select(state, cluster=wait.cluster, schedd="", statuses=statuses):
        if part := job.part(wait.first_proc, wait.last_proc):
            yield part


class Reasons:
    """The reasons for which jobs wait, read from one state when first needed."""

    def __init__(self, state: State) -> None:
        """Read from *state*, which must be open."""
        self._state = state
        self._clusters: dict[int, tuple[list[JobWait], dict[int, str], JobCap | None]] = {}

    def load(self, clusters: Iterable[int]) -> None:
        """Read the data that `reason` needs for jobs of these *clusters*."""
        for cluster in clusters:
            if cluster not in self._clusters:
                cluster_waits = waits.of_cluster(self._state, cluster)
                texts = {
                    wait.first_proc: self._conditions(wait) for wait in cluster_waits if wait.open and not wait.waived
                }
                self._clusters[cluster] = cluster_waits, texts, waits.cap(self._state, cluster)

    def reason(self, cluster: int, proc: int) -> str:
        """Return the reason for which a waiting job waits, the first obstacle first."""
        self.load([cluster])
        cluster_waits, texts, cap = self._clusters[cluster]
        wait = next((candidate for candidate in cluster_waits if proc in candidate.numbers), None)
        if wait is not None and wait.first_proc in texts:
            return texts[wait.first_proc]
        if wait is not None and wait.begin is not None and not wait.waived:
            return shown_time(wait.begin)
        if cap is None:
            return ""
        limits = (("running", cap.running), ("idle", cap.idle), ("queued", cap.queued))
        reasons = [f"its limit of {maximum} {noun}" for noun, maximum in limits if maximum is not None]
        if cap.category is not None:
            reasons.append(
                f"the limit of {counted(cap.clusters or 0, 'node')} of category {category_name(cap.category)}"
            )
        return ", ".join(reasons)

    def _conditions(self, wait: JobWait) -> str:
        conditions = waits.open_conditions(self._state, wait, _SHOWN)
        others = f" and {wait.open - len(conditions)} more" if wait.open > len(conditions) else ""
        return ", ".join(f"{condition.how} {condition.others}" for condition in conditions) + others
