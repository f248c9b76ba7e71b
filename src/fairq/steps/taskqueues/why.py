"""Why a task queue or a job is not offered to a pilot: every condition that fails, and how to change it.

Also the decision of the other set of rules about them, by step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.common.quantities import shown_duration
from fairq.common.records import JobRange, JobStatus
from fairq.engine.shares.choice import chance
from fairq.engine.shares.limits import excludes
from fairq.engine.shares.match import LIMITS, Matcher, Refusal, Terms
from fairq.engine.shares.options import Note
from fairq.engine.shares.pilot import SETS, SINGLE, TEST
from fairq.engine.shares.queues import Requirements, TaskQueue
from fairq.errors.shares import UnknownTaskQueueError
from fairq.settings.key import DIRAC
from fairq.state import claims, jobs
from fairq.state.connection import State, reading
from fairq.steps.jobs.overlay import Overlay
from fairq.steps.jobs.selection import Target, missing
from fairq.steps.rule_comparison import Steps, compare_rules
from fairq.steps.taskqueues.match import MOST_CHANCES
from fairq.steps.taskqueues.pilots import Pilot, SiteLoad, SiteRestrictions, check_groups, load_site, matcher_of
from fairq.steps.taskqueues.policy import SharePolicy
from fairq.steps.taskqueues.world import ShareWorld, load_world
from fairq.steps.why.subjects import held_cure

if TYPE_CHECKING:
    from fairq.settings import Settings


def terms_words(terms: Terms) -> str:
    """Return the terms of one side as one text."""
    listed = ", ".join(terms.values) or "none"
    if terms.groups:
        return f"{listed} in {', '.join(terms.groups)}"
    return f"not {listed}" if terms.banned else listed


_PROCESSORS, _SEVERAL = "Processors", "MultiProcessor"


class Failure(Struct, frozen=True):
    """A failing condition: the queue's requirement (*wanted*), the pilot's offer, and the smallest change of each.

    *pilot_change* is a change of the pilot's options, *job_change* of the jobs' attributes; empty if no change on that
    side helps.
    """

    condition: str
    wanted: str
    offered: str
    pilot_change: str
    job_change: str


class WhyNot(Struct, frozen=True):
    """The explanation for a queue (or its job *job*) and a pilot.

    *queue* is None if the job is in no queue; *reason* says why. Without *failures*, the queue is offered. *chance* is
    its chance to come first among the *matching* queues (None: not computed). *ahead* is the number of older jobs of
    the queue with the same UserPriority.
    """

    rules: str
    pilot: Pilot
    job: str | None
    queue: int | None
    jobs: int
    priority: float | None
    failures: list[Failure]
    reason: str
    matching: int
    queues: int
    chance: float | None
    ahead: int | None
    notes: list[Note | str]
    details: list[Note | str]


def why_not(path: Path, settings: Settings, pilot: Pilot, target: int | tuple[int, int], now: int) -> WhyNot:
    """Explain why the queue of number *target*, or the job (cluster, proc), is not offered to *pilot* at *now*.

    Raises:
        UnknownTaskQueueError, UnknownJobError: there is none.
        PilotDescriptionError, InvalidNameError, UnknownShareGroupError: the pilot cannot be served.
    """
    with reading(path) as state:
        world = load_world(state, settings, now)
        check_groups(state, world, pilot)
        load = load_site(state, world.policy, pilot.site)
        restrictions = load.restrictions(pilot.grid_ce, now)
        matcher = matcher_of(pilot, world.policy, restrictions.negative)
        subject = subject_of(state, world, target)
        row, queue = subject.row, subject.queue
        ahead = None if row is None or isinstance(target, int) else _ahead(state, world, row, *target)
    matching = matcher.matching(world.formed.queues.requirements)
    priorities = world.priorities
    failures: list[Failure] = []
    first_chance = None
    if row is not None and queue is not None:
        failures += failures_of(pilot, matcher, queue.requirements, restrictions, load)
        if row in matching and len(matching) <= MOST_CHANCES:
            weights = [priorities[index] for index in matching]
            first_chance = chance(weights, matching.index(row), world.policy.rules.selection)
    return WhyNot(
        world.policy.rules.name,
        pilot,
        subject.job,
        None if queue is None else queue.id,
        0 if queue is None else queue.jobs,
        None if row is None else priorities[row],
        failures,
        subject.reason,
        len(matching),
        len(world.formed.queues),
        first_chance,
        ahead,
        [*world.notes, *load.notes],
        world.details,
    )


def failures_of(
    pilot: Pilot, matcher: Matcher, queue: Requirements, restrictions: SiteRestrictions, load: SiteLoad
) -> Iterator[Failure]:
    """Yield each condition of *queue* that fails for the *pilot*."""
    changes = _Changes(pilot, load.policy)
    for refusal in matcher.refusals(queue):
        if refusal.key == LIMITS:
            yield from _restriction_failures(restrictions, queue, load)
        else:
            yield changes.of(refusal, queue)


class Subject(NamedTuple):
    """The queue to explain, at a *row*, or a *job* in it; if the job is in no queue, *reason* says why."""

    job: str | None
    row: int | None
    queue: TaskQueue | None
    reason: str


def subject_of(state: State, world: ShareWorld, target: int | tuple[int, int]) -> Subject:
    """Return the queue of number *target*, or the queue of the job (cluster, proc).

    Raises UnknownTaskQueueError, UnknownJobError.
    """
    row = _row_of_number(world, target) if isinstance(target, int) else world.formed.row_of_job(*target)
    queue = None if row is None else world.formed.queues.row(row)
    if isinstance(target, int):
        return Subject(None, row, queue, "")
    return Subject("{}.{}".format(*target), row, queue, "" if queue else _why_not_waiting(state, world, *target))


def _row_of_number(world: ShareWorld, number: int) -> int:
    rows = np.flatnonzero(world.formed.queues.ids == number)
    if not len(rows):
        raise UnknownTaskQueueError(number=number)
    return int(rows[0])


def _ahead(state: State, world: ShareWorld, row: int, cluster: int, proc: int) -> int:
    """Return the number of older jobs of the queue at *row* with the UserPriority of the job."""
    members = world.formed.members(state, row)
    own_member = next(member for member in members if _contains(member.job, cluster, proc))
    older_jobs = 0
    for member in members:
        if member is own_member:
            return older_jobs + proc - own_member.job.first_proc
        older_jobs += len(member.job) if member.user_priority == own_member.user_priority else 0
    return older_jobs


def _contains(job: JobRange, cluster: int, proc: int) -> bool:
    return job.cluster == cluster and job.first_proc <= proc <= job.last_proc


def _why_not_waiting(state: State, world: ShareWorld, cluster: int, proc: int) -> str:
    """Return why a job is in no task queue."""
    for left_jobs in world.formed.left_out:
        if left_jobs.cluster == cluster and left_jobs.first <= proc <= left_jobs.last:
            return f"it is in no task queue: {left_jobs.reason}"
    matching = jobs.select(state, cluster=cluster, proc=proc)
    if not matching:
        raise missing(state, Target(f"{cluster}.{proc}", cluster, proc, proc))
    job = matching[0]
    if job.status == JobStatus.RUNNING:
        claimed = claims.of_procs(state, [jobs.Procs(job.schedd, cluster, proc, proc)])
        host = Overlay(state).attributes(job, proc).get("RemoteHost") if claimed else None
        return f"it is running{f' on {host}' if host else ''}"
    if job.status == JobStatus.HELD:
        reason = f": {job.reason}" if job.reason else ""
        return f"it is held{reason}; {held_cure(job, f'{cluster}.{proc}')}"
    return f"it is {JobStatus(job.status).name.lower()}"


class _Changes:
    """Finds the smallest change that would satisfy a failing condition."""

    def __init__(self, pilot: Pilot, policy: SharePolicy) -> None:
        self._pilot, self._policy = pilot, policy
        self._change_of: dict[str, Callable[[Requirements], tuple[str, str]]] = {
            "CPUTime": lambda queue: (f"--cputime {queue.cpu_time}", self._shorter_job()),
            "Site": lambda queue: (f"--site {_one_of(queue.sites)}", f"Sites with {pilot.site}"),
            "BannedSites": lambda queue: ("--site OTHER", f"BannedSites without {pilot.site}"),
            "GridCE": lambda queue: (f"--grid-ce {_one_of(queue.grid_ces)}", f"GridCEs with {pilot.grid_ce}"),
            "Platform": lambda queue: (f"--platform {_one_of(queue.platforms)}", f"Platforms with {pilot.platform}"),
            "JobType": self._job_type,
            "MaxRAM": lambda queue: (f"--max-ram {queue.min_ram}", f"MinRAM = {pilot.max_ram or 0:g} or less"),
            "OwnerGroup": self._owner,
            "Owner": self._owner,
            "Tag": self._tags,
            "RequiredTag": self._required_tags,
        }

    def of(self, refusal: Refusal, queue: Requirements) -> Failure:
        """Return the failure for the *refusal* of *queue*."""
        find_change = self._change_of.get(refusal.key)
        pilot_change, job_change = ("", "") if find_change is None else find_change(queue)
        return Failure(refusal.key, terms_words(refusal.wanted), terms_words(refusal.offered), pilot_change, job_change)

    def _shorter_job(self) -> str:
        """Return the change of the job's CPU time: the largest segment that fits the pilot's CPU time."""
        fitting = [segment for segment in self._policy.job_defaults.segments if segment <= self._pilot.cpu_time]
        return f"CPUTime = {fitting[-1]} or less" if fitting else ""

    def _owner(self, queue: Requirements) -> tuple[str, str]:
        if self._pilot.proxy is not None:
            return f"--proxy {queue.owner}@{queue.group}", ""
        if not self._pilot.groups and self._pilot.owner is None:
            return f"--group {queue.group}", ""
        changes = []
        if self._pilot.owner is not None and self._pilot.owner != queue.owner:
            changes.append(f"--owner {queue.owner}")
        if self._pilot.groups and queue.group not in self._pilot.groups:
            changes.append(f"--group {queue.group}")
        return " ".join(changes), ""

    def _job_type(self, queue: Requirements) -> tuple[str, str]:
        usable = self._policy.usable_sites
        if usable is not None and self._pilot.site not in usable:
            return f"add {self._pilot.site} to shares.usable_sites", f"JobTypes with {TEST}"
        return f"--job-type {_one_of(queue.job_types)}", f"JobTypes with {self._pilot.job_type}"

    def _tags(self, queue: Requirements) -> tuple[str, str]:
        missing = [tag for tag in queue.tags if tag not in self._offered_tags()]
        counts = [int(tag[: -len(_PROCESSORS)]) for tag in missing if re.fullmatch(rf"\d{{1,4}}{_PROCESSORS}", tag)]
        changes = [f"--processors {max(counts)}"] if counts else []
        for tag in missing:
            if not counts or not (tag == _SEVERAL or re.fullmatch(rf"\d{{1,4}}{_PROCESSORS}", tag)):
                changes.append("--whole-node" if tag == "WholeNode" else f"--tag {tag}")
        return " ".join(changes), f"Tags without {', '.join(missing)}"

    def _offered_tags(self) -> set[str]:
        from fairq.engine.shares.pilot import match_conditions

        return set(match_conditions(self._pilot.description(), self._policy.rules).get("Tag", ()))

    def _required_tags(self, queue: Requirements) -> tuple[str, str]:
        missing = [tag for tag in self._pilot.required_tags if tag not in queue.tags]
        words = ", ".join(missing)
        return f"no --required-tag {words}", f"Tags with {words}"


def _restriction_failures(restrictions: SiteRestrictions, queue: Requirements, load: SiteLoad) -> Iterator[Failure]:
    """Yield a failure for each limit and delay that applies to *queue*."""

    def applies(attribute: str, value: str) -> bool:
        return attribute in (*SETS, *SINGLE) and excludes({attribute: [value]}, queue, load.policy.rules)

    for limit in restrictions.reached:
        if applies(limit.attribute, limit.value):
            requirement, offered = (
                f"{limit.attribute} {limit.value}",
                f"{limit.running} of at most {limit.limit} running",
            )
            change = f"wait until a job ends, or raise the limit of {load.site}"
            yield Failure("RunningLimit", requirement, offered, change, "")
    for (attribute, value), seconds in restrictions.delayed.items():
        if applies(attribute, value):
            duration = shown_duration(math.ceil(seconds))
            yield Failure("MatchingDelay", f"{attribute} {value}", f"next start in {duration}", f"wait {duration}", "")


def _one_of(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"(one of {', '.join(values)})"


MOST_QUEUES = 1_000
"""Maximum number of task queues for which single rule points are tried."""


def compared(path: Path, settings: Settings, pilot: Pilot, target: int | tuple[int, int], now: int) -> dict[str, Any]:
    """Return the decisions of both sets of rules about the queue or job *target* and *pilot* (see `compare_rules`).

    The decision is whether the queue is offered, and its chance to be drawn first.

    Raises the errors of `why_not`.
    """

    def decide(changed_settings: Settings) -> Steps:
        try:
            return _steps(why_not(path, changed_settings, pilot, target, now))
        except UnknownTaskQueueError:  # the other rules form other queues
            return dict.fromkeys(_STEPS) | {"decision": "no such task queue"}

    try_points = why_not(path, settings, pilot, target, now).queues <= MOST_QUEUES
    return compare_rules(settings, DIRAC, decide, try_points=try_points)


_STEPS = ("task queue", "task queues", "conditions that fail", "task queues that match", "priority", "decision")


def _steps(explanation: WhyNot) -> Steps:
    failing = ", ".join(failure.condition for failure in explanation.failures)
    priority = None if explanation.priority is None else round(explanation.priority, 4)
    if explanation.queue is None:
        decision = explanation.reason
    elif failing:
        decision = "not offered"
    else:
        decision = "offered" if explanation.chance is None else f"offered, chance {explanation.chance:.1%}"
    return dict(
        zip(
            _STEPS,
            (explanation.queue, explanation.queues, failing, explanation.matching, priority, decision),
            strict=True,
        )
    )
