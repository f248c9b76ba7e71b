"""Queue the jobs of a submit description: one cluster, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import Actor, Ad, Change, JobRange, JobStatus
from fairq.common.waits import UNMET
from fairq.engine.accounting.identity import submitter_name
from fairq.errors.people import TooManyJobsError
from fairq.errors.pool import JobAttributeError
from fairq.formats.submitfile import (
    Context,
    Description,
    External,
    JobGroup,
    Program,
    Submission,
    submission,
    time_macros,
)
from fairq.formats.submitfile.standings import TABLE, Command, Standing, is_of_transfer
from fairq.state import history, jobs, meta, undo
from fairq.state.connection import State, reading, writing
from fairq.state.location import resolve
from fairq.steps.jobs.conditions import CONDITIONS, Others, Waits, store, wait_of
from fairq.steps.jobs.groups import unknown_group
from fairq.steps.jobs.name import job_name
from fairq.steps.jobs.waits import settle
from fairq.steps.launch import events
from fairq.steps.launch.launchers import is_launching, runs_as_owner
from fairq.steps.launch.values import unusable_literals
from fairq.steps.mail import WANTED
from fairq.steps.rights import check_submitters

if TYPE_CHECKING:
    from fairq.settings import Settings

_CURE = "remove these jobs and submit them again, or configure the group"

_SKIPPED = (
    "the jobs of this cluster differ in what they need: one that matches no slot keeps the later ones from being tried "
    "in the same pass; set schedd.negotiate_all_jobs_in_cluster = true, or submit them as clusters of their own"
)

_TOLD = "told_no_launcher"
"""The key in the state for submitters who were already told that nothing starts jobs."""

__all__ = [
    "TABLE", "Command", "Context", "Description", "External", "Program", "Standing", "Submitted", "submit",
    "time_macros",
]  # fmt: skip


class Submitted(Struct):
    """The queued jobs of *cluster*, and the warnings about their description.

    *is_first_without_launcher* is true if nothing starts them and no earlier warning said this. *problems* will hold
    the jobs when they start.
    """

    cluster: int
    submission: Submission
    ranges: list[JobRange]
    is_first_without_launcher: bool = False
    problems: Sequence[str] = ()

    def ads(self) -> Iterator[Ad]:
        """Yield the whole ad of every job."""
        for group, job in zip(self.submission.groups, self.ranges, strict=True):
            for proc in range(job.first_proc, job.last_proc + 1):
                yield job.ad_of(group.shared, proc)


def submit(
    path: Path,
    settings: Settings,
    source: Description | Program,
    context: Context,
    actor: Actor,
    *,
    host: str,
    dry_run: bool = False,
) -> Submitted:
    """Queue the jobs of *source* as the next cluster, at the actor's time.

    Submitters are of the configured domain, else of *host*. The description is processed before the state is locked. It
    is processed again only if it uses the cluster's number and another process took that number meanwhile.

    Raises:
        SubmitDescriptionError, InvalidSubmitValueError: something in the description is wrong.
        InvalidNameError: a submitter's name is.
        NotAllowedError: the actor may not submit to the group, or not as this user.
        TooManyJobsError: schedd.max_jobs_per_owner, max_jobs_per_submission or max_jobs_submitted is reached.
        JobAttributeError: an attribute that is no expression cannot be used.
        JobRequirementError: a UserPriority is not above 0 (task queues under the documented rules).
    """
    expected = next_cluster(path)
    made = submission(source, expected, context)
    if dry_run:
        return tried(made, expected, settings, context.owner, actor, host=host)

    def remade(cluster: int) -> Submission:
        return submission(source, cluster, context) if cluster != expected and made.uses_cluster else made

    return queue(path, settings, made, context.owner, actor, host=host, remade=remade)


def next_cluster(path: Path) -> int:
    """Return the number that the next cluster will have unless another process takes it."""
    with reading(path) as state:
        return int(meta.get(state, "next_cluster", "1") or 1)


def tried(made: Submission, cluster: int, settings: Settings, owner: str, actor: Actor, *, host: str) -> Submitted:
    """Return what queueing the jobs *made* as *cluster* would give, without the limits of the queue.

    Raises the same errors as `submit`.
    """
    check(made, settings)
    domain = domain_of(settings, host)
    ranges = _ranges(made, cluster, domain, owner, actor, lambda _: 0)
    check_submitters(settings, actor, {job.submitter for job in ranges}, owner, domain)
    return Submitted(cluster, made, ranges)


def queue(
    path: Path,
    settings: Settings,
    made: Submission,
    owner: str,
    actor: Actor,
    *,
    host: str,
    remade: Callable[[int], Submission],
) -> Submitted:
    """Queue the jobs *made* for *owner* as the next cluster; *remade* makes them for its number.

    Raises the same errors as `submit`.
    """
    check(made, settings)
    domain = domain_of(settings, host)
    with writing(path) as state:
        cluster = jobs.next_cluster(state)
        warnings, made = made.warnings, remade(cluster)
        made.warnings = warnings
        is_launched = is_launching(state, settings)
        ranges = put(state, settings, {cluster: made}, domain, owner, actor, host, is_launched=is_launched)[cluster]
        entries = history.record(state, actor, [change_of(cluster, made, ranges)], own=True)
        undo.record(state, actor, entries, "submit", {"cluster": cluster}, settings["pool.undo_kept"])
        is_first = not is_launched and meta.get(state, _TOLD) is None
        if is_first:
            meta.set(state, _TOLD, "1")
    # The logs belong to the jobs' owners; the account of a host's pool must not write them.
    problems = events.flush(path, settings) if actor.request is None else ()
    return Submitted(cluster, made, ranges, is_first, problems if is_launched else ())


def put(
    state: State,
    settings: Settings,
    made: Mapping[int, Submission],
    domain: str,
    owner: str,
    actor: Actor,
    host: str,
    *,
    is_launched: bool,
    categories: Mapping[int, tuple[str, int]] = MappingProxyType({}),
) -> dict[int, list[JobRange]]:
    """Put the jobs *made*, by their cluster, into the queue, in the caller's transaction, without their history.

    *categories* has the clusters that are limited together: the category, and how many may be in the queue.
    """
    number = _ad_numbers(state)
    ranges = {cluster: _ranges(one, cluster, domain, owner, actor, number) for cluster, one in made.items()}
    jobs_of_all = [job for found in ranges.values() for job in found]
    check_submitters(settings, actor, {job.submitter for job in jobs_of_all}, owner, domain)
    _check_limits(state, settings, owner, list(made.values()))
    others = Others(state, settings, actor)
    ads = {job.ad_id: group.shared for one in ranges for job, group in zip(ranges[one], made[one].groups, strict=True)}
    waiting: dict[int, Waits] = {}
    for cluster, found in ranges.items():
        if cluster in categories or _has_conditions(made[cluster]):
            conditions = wait_of(others, found, ads, categories.get(cluster))
            if conditions:
                waiting[cluster] = conditions
        for job in found if cluster in waiting else ():
            job.status = int(JobStatus.WAITING) if job.status == JobStatus.IDLE else job.status
        others.queued[cluster] = found
    jobs.add(state, jobs_of_all)
    events.record(state, jobs_of_all, events.SUBMITTED, {"host": host}, actor.time, always=is_launched)
    store(state, waiting.values())
    unsettled = [cluster for cluster, conditions in waiting.items() if not conditions.all_wait(len(made[cluster]))]
    settle(state, unsettled, actor.time)
    for cluster in unsettled:
        made[cluster].warnings += [
            f"job {job_name(cluster, job.first_proc, job.last_proc)} is held: {job.reason}"
            for job in jobs.select(state, cluster=cluster, schedd="", statuses=[JobStatus.HELD])
            if job.hold_code == UNMET
        ]
    return ranges


def _has_conditions(made: Submission) -> bool:
    ads = {id(ad): ad for group in made.groups for ad in (group.shared, group.own, group.template) if ad}
    return any(name.lower() in CONDITIONS for ad in ads.values() for name in ad)


def domain_of(settings: Settings, host: str) -> str:
    """Return the domain of the submitters: the configured one, else *host*."""
    domain: str = settings["accounting.accounting_domain"] or settings["accounting.uid_domain"] or host
    return domain


def check(made: Submission, settings: Settings) -> None:
    """Check the jobs against the rules of the pool, and add warnings."""
    ads = {id(ad): ad for group in made.groups for ad in (group.shared, group.own, group.template) if ad}
    for ad in ads.values():
        for error in unusable_literals(ad):
            raise JobAttributeError(attribute=error.attribute, problem=error.problem)
    _check_user_priorities(made, settings)
    made.warnings += _unknown_groups(made, settings)
    ads_of_all = _ads(made)
    if runs_as_owner(settings) and any(ad.get("NotifyCommand") for ad in ads_of_all):
        raise JobAttributeError(attribute="NotifyCommand", problem="the pool of this host sends mail only")
    if not settings["mail.command"] and any(map(_wants_mail, ads_of_all)):
        made.warnings.append("notification mails nothing: mail.command is not set")
    if settings["launch.htcondor.spool"]:
        made.without_effect = [name for name in made.without_effect if not is_of_transfer(name)]
    if _is_skipped_together(settings) and _differ_in_needs(made):
        made.warnings.append(_SKIPPED)


def _wants_mail(ad: Ad) -> bool:
    return ad.get("JobNotification") in WANTED or (ad.get("NotifyAllEnded") is True and not ad.get("NotifyCommand"))


def _ads(made: Submission) -> list[Ad]:
    """Return each ad that jobs share, and each that differs from it, once."""
    return list({id(ad): ad for group in made.groups for ad in (group.shared, group.own) if ad}.values())


def _is_skipped_together(settings: Settings) -> bool:
    """Return whether a job that finds no slot makes a pass skip the rest of its cluster (docs/htcondor.md 3.6)."""
    by_cluster = settings["negotiator.skip_by"] == "cluster" and not settings["schedd.significant_attributes"]
    return by_cluster and not settings["schedd.negotiate_all_jobs_in_cluster"]


def _differ_in_needs(made: Submission) -> bool:
    """Return whether jobs of a cluster differ in Requirements or requests: one may match where another does not.

    Statements and items make jobs that differ, with the number of the job in a request as well.
    """
    first: Ad | None = None
    for group in made.groups:
        if any(map(_is_need, group.template or ())):
            return True
        if not group.first_proc:
            first = None
        needs = {name.lower(): value for name, value in {**group.shared, **(group.own or {})}.items() if _is_need(name)}
        if first is None:
            first = needs
        elif needs != first:
            return True
    return False


def _is_need(name: str) -> bool:
    return name.lower() == "requirements" or name.lower().startswith("request")


def _check_user_priorities(made: Submission, settings: Settings) -> None:
    given = [value for ad in _ads(made) for name, value in ad.items() if name.lower() == "userpriority"]
    if given:
        from fairq.engine.shares.user_priority import check_submitted
        from fairq.steps.taskqueues.job_requirements import plain_value
        from fairq.steps.taskqueues.policy import share_rules

        rules = share_rules(settings)
        for value in given:
            check_submitted(plain_value(value), rules)


_DEFAULTS_OF_HOST = {"max_jobs_per_owner": 100_000, "max_jobs_per_submission": 20_000}
"""HTCondor's defaults (manual, MAX_JOBS_PER_OWNER and MAX_JOBS_PER_SUBMISSION), where people share a pool."""


def _check_limits(state: State, settings: Settings, owner: str, made: Sequence[Submission]) -> None:
    """Raise TooManyJobsError if the queue would have too many jobs; a range of alike jobs costs what one costs."""
    is_shared = settings["pool.state"] is not None and resolve(Path(settings["pool.state"])) == resolve(state.path)

    def check(name: str, who: str, there: int, new: int) -> None:
        most = settings[f"schedd.{name}"]
        if most is None and is_shared:
            most = _DEFAULTS_OF_HOST.get(name)
        if most is not None and there + new > most:
            raise TooManyJobsError(new=new, who=who, there=there, most=most, name=name)

    ranges = [len(one.groups) for one in made]
    check("max_jobs_per_submission", "a submission has", 0, max(ranges))
    check("max_jobs_per_owner", f"{owner} has", jobs.count_ranges(state, owner), sum(ranges))
    check("max_jobs_submitted", "the queue has", jobs.count(state), sum(map(len, made)))


def _unknown_groups(made: Submission, settings: Settings) -> list[str]:
    """Return a warning for every accounting group that jobs request but that is not configured."""
    asked = {value for value in (ad.get("AcctGroup") for ad in _ads(made)) if isinstance(value, str)}
    warnings = (unknown_group(name, settings) for name in sorted(asked))
    return [f"{warning}; {_CURE}" for warning in warnings if warning is not None]


def _ad_numbers(state: State) -> Callable[[Ad], int]:
    numbers: dict[int, int] = {}

    def number(ad: Ad) -> int:
        if id(ad) not in numbers:  # one object per queue statement
            numbers[id(ad)] = jobs.ad_id(state, ad)
        return numbers[id(ad)]

    return number


def _ranges(
    made: Submission, cluster: int, domain: str, owner: str, actor: Actor, number: Callable[[Ad], int]
) -> list[JobRange]:
    result = []
    names = _Submitters(domain, owner)
    for group in made.groups:
        for first, last, submitter in names.of(group):
            result.append(
                JobRange(
                    cluster=cluster,
                    first_proc=first,
                    last_proc=last,
                    ad_id=number(group.shared),
                    submitter=submitter,
                    owner=owner,
                    status=group.status,
                    queue_date=actor.time,
                    status_date=actor.time,
                    priority=group.priority,
                    own=group.own,
                    template=group.template,
                    reason=group.reason,
                )
            )
    return result


class _Submitters:
    """Finds the submitters of jobs; most jobs have the same one."""

    def __init__(self, domain: str, owner: str) -> None:
        self._domain = domain
        self._owner = owner
        self._known: dict[tuple[tuple[str, object], ...], str] = {}
        self._shared: dict[int, list[tuple[str, object]]] = {}

    def of(self, group: JobGroup) -> Iterator[tuple[int, int, str]]:
        """Yield each run of jobs of *group* with the same submitter: first, last, name."""
        if group.template and not _IDENTITY.isdisjoint(name.lower() for name in group.template):
            for proc in range(group.first_proc, group.last_proc + 1):
                yield proc, proc, self._name(_identity(group.ad(proc)))
            return
        said = self._shared.get(id(group.shared))
        if said is None:
            said = self._shared[id(group.shared)] = _identity(group.shared)
        yield group.first_proc, group.last_proc, self._name([*said, *_identity(group.own or {})])

    def _name(self, said: list[tuple[str, object]]) -> str:
        key = tuple(said)
        if key not in self._known:
            self._known[key] = submitter_name({**dict(said), "Owner": self._owner}, self._domain)
        return self._known[key]


_IDENTITY = frozenset({"accountinggroup", "niceuser"})


def _identity(ad: Ad) -> list[tuple[str, object]]:
    return [(name, value) for name, value in ad.items() if name.lower() in _IDENTITY]


def change_of(cluster: int, made: Submission, ranges: list[JobRange]) -> Change:
    """Return the submission of a cluster for the history."""
    submitters = sorted({job.submitter for job in ranges})
    return Change(f"job {cluster}", None, {"Jobs": len(made), "Submitters": submitters[:100]})
