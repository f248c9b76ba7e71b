"""Remove, hold and release jobs, and change their priority; each in one transaction, with its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.common.procs import Procs, job_name
from fairq.common.records import Actor, Ad, Change, JobRange, JobStatus
from fairq.errors.base import InvalidNumberError
from fairq.errors.pool import JobStateError, NoMatchingJobError
from fairq.state import history, jobs, undo
from fairq.state.connection import State, opened_for
from fairq.steps.jobs.attributes import GROUP, charged_to, check_edit, edit
from fairq.steps.jobs.end import end_running
from fairq.steps.jobs.end_records import take_from_queue
from fairq.steps.jobs.selection import Selection, Target, find, matcher, without
from fairq.steps.jobs.waits import settle_released
from fairq.steps.launch import events
from fairq.steps.launch.holds import store_holds
from fairq.steps.launch.launchers import is_launching
from fairq.steps.launch.order import order_ends
from fairq.steps.rights import check_owner, check_submitters, is_own
from fairq.steps.undo.jobs import kept_jobs

if TYPE_CHECKING:
    from fairq.settings import Settings

BY_USER = 1
"""HTCondor's hold code of a user's own hold."""

_UNHELD = (JobStatus.IDLE, JobStatus.WAITING)

_VERBS = {"prio": "change the priority of"}

_NAMES = {int(status): status.name.lower() for status in JobStatus}
_LARGEST_PRIORITY = 2**31 - 1


class Changed(Struct):
    """The result of a command: the number of jobs for every target, and the former jobs.

    *ending* counts the jobs with running processes; these jobs keep their slots and status until all processes end.
    """

    targets: list[tuple[Target, int]] = field(default_factory=list)
    jobs: list[JobRange] = field(default_factory=list)
    ending: int = 0
    warnings: list[str] = field(default_factory=list)
    running: int = 0
    """The number of running jobs whose change applies to the next run."""

    def __len__(self) -> int:
        return sum(count for _, count in self.targets)


class JobEditor:
    """The queue of one state, for one change by *actor* at the actor's time; *dry_run* stores nothing."""

    def __init__(self, path: Path, settings: Settings, actor: Actor, *, dry_run: bool = False) -> None:
        """Store the arguments; the state is opened by the change itself."""
        self._path = path
        self._settings = settings
        self._actor = actor
        self._dry_run = dry_run
        self._ordered: set[str] = set()

    def remove(self, selection: Selection, reason: str | None = None) -> Changed:
        """Remove jobs from the queue; running ones end, and their slots become free.

        Processes started by a launcher are ended first: the job leaves the queue when no process is left.
        """
        text = reason or f"removed by {self._actor.user}"

        def change(state: State, ranges: Sequence[JobRange]) -> None:
            others = self._order(state, ranges, {"how": "remove", "reason": text})
            end_running(state, self._settings, others, self._actor.time, "removed")
            completed = [job for job in others if job.status == JobStatus.COMPLETED]
            removed = [job for job in others if job.status != JobStatus.COMPLETED]
            self._record_events(state, removed, events.ABORTED, {"reason": text})
            take_from_queue(state, completed, JobStatus.COMPLETED, self._actor.time)
            take_from_queue(state, removed, JobStatus.REMOVED, self._actor.time, text)

        after = {"JobStatus": int(JobStatus.REMOVED), **_reason_attribute("Remove", reason)}
        return self._change(selection, None, change, lambda _: after, "remove")

    def hold(self, selection: Selection, reason: str | None = None) -> Changed:
        """Hold idle and running jobs; running ones end, and their slots become free."""
        text = reason or f"held by {self._actor.user}"

        def change(state: State, ranges: Sequence[JobRange]) -> None:
            others = self._order(state, ranges, {"how": "hold", "reason": text, "code": BY_USER, "subcode": 0})
            end_running(state, self._settings, others, self._actor.time, "held")
            always = is_launching(state, self._settings)
            store_holds(state, others, text, BY_USER, self._actor.time, always=always)

        after = {"JobStatus": int(JobStatus.HELD), "HoldReason": text}
        return self._change(selection, (*_UNHELD, JobStatus.RUNNING), change, lambda _: after, "hold")

    def release(self, selection: Selection, reason: str | None = None) -> Changed:
        """Make held jobs idle again."""

        def change(state: State, ranges: Sequence[JobRange]) -> None:
            jobs.set_status(state, (job.procs for job in ranges), JobStatus.IDLE, self._actor.time)
            settle_released(state, ranges, self._actor.time)
            self._record_events(state, ranges, events.RELEASED, {"reason": reason or f"released by {self._actor.user}"})

        after = {"JobStatus": int(JobStatus.IDLE), **_reason_attribute("Release", reason)}
        return self._change(selection, (JobStatus.HELD,), change, lambda _: after, "release")

    def prioritise(self, selection: Selection, value: int, *, relative: bool = False) -> Changed:
        """Set the priority of jobs to *value*, or raise it by *value*."""

        return self._reorder(selection, lambda _, __: lambda job: job.priority + value if relative else value)

    def move_to_top(self, selection: Selection) -> Changed:
        """Raise the priority of jobs above that of all other jobs of their submitters; their own order stays."""
        return self._reorder(selection, priorities_on_top)

    def _reorder(
        self, selection: Selection, priorities: Callable[[State, Sequence[JobRange]], Callable[[JobRange], int]]
    ) -> Changed:
        """Set the priorities of jobs by the function that *priorities* returns for the selected jobs."""
        priority_of: dict[Procs, int] = {}

        def prepare(state: State, ranges: Sequence[JobRange]) -> None:
            new = priorities(state, ranges)
            for job in ranges:
                priority = priority_of[job.procs] = new(job)
                if abs(priority) > _LARGEST_PRIORITY:
                    expected = "give a whole number from -2147483648 to 2147483647"
                    raise InvalidNumberError(what="the priority", value=priority, expected=expected)

        def new(job: JobRange) -> int:
            return priority_of[job.procs]

        def change(state: State, ranges: Sequence[JobRange]) -> None:
            for priority, group in groupby(sorted(ranges, key=new), key=new):
                jobs.change_many(state, (job.procs for job in group), priority=priority)

        statuses = (*_UNHELD, JobStatus.RUNNING, JobStatus.HELD)
        return self._change(selection, statuses, change, lambda job: {"JobPrio": new(job)}, "prio", prepare)

    def edit(self, selection: Selection, attributes: Ad) -> Changed:
        """Set *attributes* of waiting, held and running jobs; a current run keeps its former values.

        Raises ProtectedAttributeError, JobAttributeError.
        """
        warnings = check_edit(attributes, self._settings)
        group = attributes.get(GROUP)
        former: dict[Procs, Ad] = {}
        new: dict[Procs, tuple[Ad, str]] = {}
        """The new attributes of each job, and its new submitter."""

        def prepare(state: State, ranges: Sequence[JobRange]) -> None:
            shared = jobs.ads(state, {job.ad_id for job in ranges})
            for job in ranges:
                ad = job.ad_of(shared[job.ad_id], job.first_proc)
                of_group: Ad = {}
                submitter = job.submitter
                if group is not None:
                    of_group, submitter = charged_to(group, job, shared[job.ad_id])
                    check_submitters(self._settings, self._actor, [submitter], job.owner, submitter.rpartition("@")[2])
                new[job.procs] = {**attributes, **of_group}, submitter
                names = {name.lower(): name for name in new[job.procs][0]}
                former[job.procs] = {names[name.lower()]: ad[name] for name in ad if name.lower() in names}

        def change(state: State, ranges: Sequence[JobRange]) -> None:
            if group is None:
                edit(state, ranges, attributes)
                return
            for submitter in {new[job.procs][1] for job in ranges}:
                by_submitter = [job for job in ranges if new[job.procs][1] == submitter]
                edit(state, by_submitter, new[by_submitter[0].procs][0])
                jobs.change_many(state, (job.procs for job in by_submitter), submitter=submitter)

        running = () if group is not None else (JobStatus.RUNNING,)
        statuses = (*_UNHELD, *running, JobStatus.HELD)
        changed = self._change(
            selection, statuses, change, lambda job: new[job.procs][0], "edit", prepare, lambda job: former[job.procs]
        )
        changed.warnings = warnings
        changed.running = sum(len(job) for job in changed.jobs if job.status == JobStatus.RUNNING)
        return changed

    def _change(
        self,
        selection: Selection,
        statuses: Sequence[JobStatus] | None,
        change: Callable[[State, Sequence[JobRange]], None],
        after: Callable[[JobRange], dict[str, Any]],
        kind: str,
        prepare: Callable[[State, Sequence[JobRange]], None] | None = None,
        former_of: Callable[[JobRange], Ad] | None = None,
    ) -> Changed:
        """Make one *change*; *prepare* is called before with the selected jobs, in a dry run, too.

        *after* and *former_of* return the attributes that change, for the history.
        """
        # Without a state file there are no jobs: the search reports this, and no file is created.
        with opened_for(self._path, dry_run=self._dry_run, create=False) as state:
            changed = choose(state, selection, statuses, actor=self._actor)
            check_owner(self._actor, changed.jobs, _VERBS.get(kind, kind))
            if prepare is not None:
                prepare(state, changed.jobs)
            changes = list(_changes(changed.jobs, after, former_of or _former_attributes))
            if not self._dry_run:
                former = kept_jobs(state, changed.jobs)
                change(state, changed.jobs)
                entries = history.record(state, self._actor, changes, own=True)
                undo_kept = self._settings["pool.undo_kept"]
                if self._ordered:
                    undo.record_final(state, self._actor, entries, "it ended processes of running jobs", undo_kept)
                else:
                    undo.record(state, self._actor, entries, kind, former, undo_kept)
        if not self._dry_run:
            changed.ending = self._settle()
        return changed

    def _order(self, state: State, ranges: Sequence[JobRange], order: dict[str, Any]) -> Sequence[JobRange]:
        """Order the end of the jobs that a launcher runs; return the other jobs."""
        ordered, others = order_ends(state, ranges, order)
        self._ordered |= ordered
        return others

    def _record_events(self, state: State, ranges: Sequence[JobRange], number: int, body: dict[str, Any]) -> None:
        always = is_launching(state, self._settings)
        events.record(state, ranges, number, body, self._actor.time, always=always)

    def _settle(self) -> int:
        """Wait briefly for the runs ordered to end; return the number of remaining ones."""
        remaining: set[str] = set()
        if self._ordered:
            from fairq.steps.launch.settle import settle

            remaining = settle(self._path, self._settings, self._actor, self._ordered)
        if self._actor.request is None:
            # The logs belong to the jobs' owners; the account of a host's pool must not write them.
            events.flush(self._path, self._settings)
        return len(remaining)


def choose(
    state: State, selection: Selection, statuses: Sequence[JobStatus] | None, actor: Actor | None = None
) -> Changed:
    """Return the jobs of *selection* that are in one of *statuses* (None: in any).

    Without targets, these are all jobs, or all jobs that *actor* may change.

    Raises:
        UnknownJobError, NoMatchingJobError: a target has no job, or none in those statuses.
        JobStateError: a job named by itself is in another status.
    """
    changed = Changed()
    status_names = () if statuses is None else [_NAMES[status] for status in statuses if status != JobStatus.WAITING]
    needed = " or ".join(status_names) or "there"
    job_matcher = matcher(state, selection)
    may_change = None if actor is None or actor.administrator else partial(is_own, actor)
    for target, ranges in find(state, selection, job_matcher, may_change=may_change):
        matching = [job for job in ranges if statuses is None or job.status in statuses]
        if ranges and not matching:
            if target.is_one_job:
                status = _NAMES.get(ranges[0].status, f"in status {ranges[0].status}")
                raise JobStateError(job=target.text, found=status, needed=needed)
            if selection.targets:
                raise NoMatchingJobError(condition=f"of {target.text} is {needed}")
        changed.targets.append((_with_schedds(target, matching), sum(map(len, matching))))
        changed.jobs += matching
    if not changed.jobs:
        condition = f"is {needed}" if selection.constraint is None else f"satisfies {selection.constraint}"
        notes = [f"only {selection.filters}"] if selection.filters else []
        notes += [] if job_matcher is None else job_matcher.unknown.notes("job")
        raise NoMatchingJobError(condition=f"{condition} ({'; '.join(notes)})" if notes else condition)
    return changed


def _with_schedds(target: Target, ranges: Sequence[JobRange]) -> Target:
    """Return *target* with the names of all its jobs, if several schedds have a job with its number."""
    schedds = sorted({job.schedd for job in ranges})
    if not target.is_one_job or target.schedd is not None or len(schedds) < 2:
        return target
    return replace(target, text=", ".join(f"{target.text}@{schedd}" for schedd in schedds))


def priorities_on_top(state: State, ranges: Sequence[JobRange]) -> Callable[[JobRange], int]:
    """Return the function of the priority that puts a job of *ranges* ahead of all others of its submitter.

    The jobs of a submitter are raised by the same amount; those that are ahead already keep their priority.
    """
    raised: dict[str, int] = {}
    for submitter in {job.submitter for job in ranges}:
        selected = [job for job in ranges if job.submitter == submitter]
        others = [
            part.priority
            for job in jobs.select(state, submitter=submitter, statuses=(*_UNHELD, JobStatus.HELD))
            for part in without(job, selected)
        ]
        lowest = min(job.priority for job in selected)
        raised[submitter] = max(0, max(others, default=lowest - 1) + 1 - lowest)
    return lambda job: job.priority + raised[job.submitter]


def _former_attributes(job: JobRange) -> Ad:
    return {"JobStatus": job.attributes()["JobStatus"], "JobPrio": job.priority, "HoldReason": job.reason}


def _changes(
    ranges: Sequence[JobRange], after: Callable[[JobRange], dict[str, Any]], former_of: Callable[[JobRange], Ad]
) -> Iterator[Change]:
    """Yield one change for each run of consecutive jobs that change in the same way."""

    def before(job: JobRange) -> dict[str, Any]:
        former = former_of(job)
        return {name: former[name] for name in after(job) if former.get(name) is not None}

    start: JobRange | None = None
    last = -1
    for job in sorted(ranges, key=lambda job_range: (job_range.schedd, job_range.cluster, job_range.first_proc)):
        if start is not None:
            same_cluster = (job.schedd, job.cluster) == (start.schedd, start.cluster)
            is_same = before(job) == before(start) and after(job) == after(start)
            if same_cluster and job.first_proc == last + 1 and is_same:
                last = job.last_proc
                continue
            yield Change(f"job {job_name(start.cluster, start.first_proc, last)}", before(start), after(start))
        start, last = job, job.last_proc
    if start is not None:
        yield Change(f"job {job_name(start.cluster, start.first_proc, last)}", before(start), after(start))


def _reason_attribute(verb: str, reason: str | None) -> dict[str, str]:
    return {} if reason is None else {f"{verb}Reason": reason}
