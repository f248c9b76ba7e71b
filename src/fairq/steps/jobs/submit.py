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
from fairq.steps.cycle.accounting_policy import submitters_domain
from fairq.steps.jobs.conditions import CONDITIONS, Others, Waits, store, wait_of
from fairq.steps.jobs.groups import unknown_group
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
"""The state's key for having printed once that nothing starts jobs."""

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
            for proc in job.numbers:
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
    draft = submission(source, expected, context)
    if dry_run:
        return tried(draft, expected, settings, context.owner, actor, host=host)

    def remade(cluster: int) -> Submission:
        return submission(source, cluster, context) if cluster != expected and draft.uses_cluster else draft

    return queue(path, settings, draft, context.owner, actor, host=host, remade=remade)


def next_cluster(path: Path) -> int:
    """Return the number that the next cluster will have unless another process takes it."""
    with reading(path) as state:
        return int(meta.get(state, "next_cluster", "1") or 1)


def tried(draft: Submission, cluster: int, settings: Settings, owner: str, actor: Actor, *, host: str) -> Submitted:
    """Return the result of queueing *draft* as *cluster*, without the limits of the queue.

    Raises the same errors as `submit`.
    """
    check(draft, settings)
    domain = submitters_domain(settings, host)
    ranges = _ranges(draft, cluster, domain, owner, actor, lambda _: 0)
    check_submitters(settings, actor, {job.submitter for job in ranges}, owner, domain)
    return Submitted(cluster, draft, ranges)


def queue(
    path: Path,
    settings: Settings,
    draft: Submission,
    owner: str,
    actor: Actor,
    *,
    host: str,
    remade: Callable[[int], Submission],
) -> Submitted:
    """Queue *draft* for *owner* as the next cluster; *remade* makes it for that number.

    Raises the same errors as `submit`.
    """
    check(draft, settings)
    with writing(path) as state:
        cluster = jobs.next_cluster(state)
        warnings, draft = draft.warnings, remade(cluster)
        draft.warnings = warnings
        ranges = put(state, settings, {cluster: draft}, owner, actor, host)[cluster]
        entries = history.record(state, actor, [change_of(cluster, draft, ranges)], own=True)
        undo.record(state, actor, entries, "submit", {"cluster": cluster}, settings["pool.undo_kept"])
        is_launched = is_launching(state, settings)
        is_first = not is_launched and meta.get(state, _TOLD) is None
        if is_first:
            meta.set(state, _TOLD, "1")
    # The logs belong to the jobs' owners; the account of a host's pool must not write them.
    problems = events.flush(path, settings) if actor.request is None else ()
    return Submitted(cluster, draft, ranges, is_first, problems if is_launched else ())


def put(
    state: State,
    settings: Settings,
    drafts: Mapping[int, Submission],
    owner: str,
    actor: Actor,
    host: str,
    categories: Mapping[int, tuple[str, int]] = MappingProxyType({}),
) -> dict[int, list[JobRange]]:
    """Put *drafts*, by their cluster, into the queue, in the caller's transaction, without their history.

    *categories* has the clusters with a common limit: the category, and how many may be in the queue.
    """
    ad_id_of, domain = _ad_numbers(state), submitters_domain(settings, host)
    ranges = {cluster: _ranges(draft, cluster, domain, owner, actor, ad_id_of) for cluster, draft in drafts.items()}
    jobs_of_all = [job for job_ranges in ranges.values() for job in job_ranges]
    check_submitters(settings, actor, {job.submitter for job in jobs_of_all}, owner, domain)
    _check_limits(state, settings, owner, list(drafts.values()))
    others = Others(state, settings, actor)
    ads = {
        job.ad_id: group.shared
        for cluster in ranges
        for job, group in zip(ranges[cluster], drafts[cluster].groups, strict=True)
    }
    waiting: dict[int, Waits] = {}
    for cluster, job_ranges in ranges.items():
        if cluster in categories or _has_conditions(drafts[cluster]):
            conditions = wait_of(others, job_ranges, ads, categories.get(cluster))
            if conditions:
                waiting[cluster] = conditions
        for job in job_ranges if cluster in waiting else ():
            job.status = int(JobStatus.WAITING) if job.status == JobStatus.IDLE else job.status
        others.queued[cluster] = job_ranges
    jobs.add(state, jobs_of_all)
    always = is_launching(state, settings)
    events.record(state, jobs_of_all, events.SUBMITTED, {"host": host}, actor.time, always=always)
    store(state, waiting.values())
    unsettled = [cluster for cluster, conditions in waiting.items() if not conditions.all_wait(len(drafts[cluster]))]
    settle(state, unsettled, actor.time)
    for cluster in unsettled:
        drafts[cluster].warnings += [
            f"job {job.name} is held: {job.reason}"
            for job in jobs.select(state, cluster=cluster, schedd="", statuses=[JobStatus.HELD])
            if job.hold_code == UNMET
        ]
    return ranges


def _has_conditions(draft: Submission) -> bool:
    return any(name.lower() in CONDITIONS for ad in _ads(draft, templates=True) for name in ad)


def check(draft: Submission, settings: Settings) -> None:
    """Check the jobs against the rules of the pool, and add warnings."""
    for ad in _ads(draft, templates=True):
        for error in unusable_literals(ad):
            raise JobAttributeError(attribute=error.attribute, problem=error.problem)
    _check_user_priorities(draft, settings)
    draft.warnings += _unknown_groups(draft, settings)
    ads_of_all = _ads(draft)
    if runs_as_owner(settings) and any(ad.get("NotifyCommand") for ad in ads_of_all):
        raise JobAttributeError(attribute="NotifyCommand", problem="the pool of this host sends mail only")
    if not settings["mail.command"] and any(map(_wants_mail, ads_of_all)):
        draft.warnings.append("notification mails nothing: mail.command is not set")
    if settings["launch.htcondor.spool"]:
        draft.without_effect = [name for name in draft.without_effect if not is_of_transfer(name)]
    if _is_skipped_together(settings) and _differ_in_needs(draft):
        draft.warnings.append(_SKIPPED)


def _wants_mail(ad: Ad) -> bool:
    return ad.get("JobNotification") in WANTED or (ad.get("NotifyAllEnded") is True and not ad.get("NotifyCommand"))


def _ads(draft: Submission, *, templates: bool = False) -> list[Ad]:
    """Return each shared ad, each ad that differs from it, and, if asked for, each template, once."""
    ads = [(group.shared, group.own, group.template if templates else None) for group in draft.groups]
    return list({id(ad): ad for of_group in ads for ad in of_group if ad}.values())


def _is_skipped_together(settings: Settings) -> bool:
    """Return whether a job without a matching slot makes a pass skip its whole cluster (docs/htcondor.md 3.6)."""
    by_cluster = settings["negotiator.skip_by"] == "cluster" and not settings["schedd.significant_attributes"]
    return by_cluster and not settings["schedd.negotiate_all_jobs_in_cluster"]


def _differ_in_needs(draft: Submission) -> bool:
    """Return whether jobs of a cluster differ in Requirements or requests, by statement, item or number of the job."""
    first: Ad | None = None
    shared, shared_needs = Ad(), Ad()
    for group in draft.groups:
        if _needs(group.template or {}):
            return True
        if not group.first_proc:
            first = None
        if group.shared is not shared:
            shared, shared_needs = group.shared, _needs(group.shared)
        needs = {**shared_needs, **_needs(group.own or {})}
        if first is None:
            first = needs
        elif needs != first:
            return True
    return False


def _needs(ad: Ad) -> Ad:
    """Return the Requirements and requests of *ad*, with names in lower case."""
    lowered = ((name.lower(), value) for name, value in ad.items())
    return {name: value for name, value in lowered if name == "requirements" or name.startswith("request")}


def _check_user_priorities(draft: Submission, settings: Settings) -> None:
    priorities = [value for ad in _ads(draft) for name, value in ad.items() if name.lower() == "userpriority"]
    if priorities:
        from fairq.engine.shares.user_priority import check_submitted
        from fairq.steps.taskqueues.job_requirements import plain_value
        from fairq.steps.taskqueues.policy import share_rules

        rules = share_rules(settings)
        for value in priorities:
            check_submitted(plain_value(value), rules)


_DEFAULTS_OF_HOST = {"max_jobs_per_owner": 100_000, "max_jobs_per_submission": 20_000}
"""HTCondor's defaults (manual, MAX_JOBS_PER_OWNER and MAX_JOBS_PER_SUBMISSION), where people share a pool."""


def _check_limits(state: State, settings: Settings, owner: str, drafts: Sequence[Submission]) -> None:
    """Raise TooManyJobsError if the queue would have too many jobs; a range of alike jobs counts as one."""
    is_shared = settings["pool.state"] is not None and resolve(Path(settings["pool.state"])) == resolve(state.path)

    def check(name: str, who: str, existing: int, new: int) -> None:
        maximum = settings[f"schedd.{name}"]
        if maximum is None and is_shared:
            maximum = _DEFAULTS_OF_HOST.get(name)
        if maximum is not None and existing + new > maximum:
            raise TooManyJobsError(new=new, who=who, there=existing, most=maximum, name=name)

    ranges = [len(draft.groups) for draft in drafts]
    check("max_jobs_per_submission", "a submission has", 0, max(ranges))
    check("max_jobs_per_owner", f"{owner} has", jobs.count_ranges(state, owner), sum(ranges))
    check("max_jobs_submitted", "the queue has", jobs.count(state), sum(map(len, drafts)))


def _unknown_groups(draft: Submission, settings: Settings) -> list[str]:
    """Return a warning for every accounting group that jobs request but that is not configured."""
    requested = {value for value in (ad.get("AcctGroup") for ad in _ads(draft)) if isinstance(value, str)}
    warnings = (unknown_group(name, settings) for name in sorted(requested))
    return [f"{warning}; {_CURE}" for warning in warnings if warning is not None]


def _ad_numbers(state: State) -> Callable[[Ad], int]:
    numbers: dict[int, int] = {}

    def number(ad: Ad) -> int:
        if id(ad) not in numbers:  # one object per queue statement
            numbers[id(ad)] = jobs.ad_id(state, ad)
        return numbers[id(ad)]

    return number


def _ranges(
    draft: Submission, cluster: int, domain: str, owner: str, actor: Actor, ad_id_of: Callable[[Ad], int]
) -> list[JobRange]:
    result = []
    names = _Submitters(domain, owner)
    for group in draft.groups:
        for first, last, submitter in names.submitters(group):
            result.append(
                JobRange(
                    cluster=cluster,
                    first_proc=first,
                    last_proc=last,
                    ad_id=ad_id_of(group.shared),
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

    def submitters(self, group: JobGroup) -> Iterator[tuple[int, int, str]]:
        """Yield each run of jobs of *group* with the same submitter: first, last, name."""
        if group.template and not _IDENTITY.isdisjoint(name.lower() for name in group.template):
            for proc in range(group.first_proc, group.last_proc + 1):
                yield proc, proc, self._name(_identity(group.ad(proc)))
            return
        of_shared = self._shared.get(id(group.shared))
        if of_shared is None:
            of_shared = self._shared[id(group.shared)] = _identity(group.shared)
        yield group.first_proc, group.last_proc, self._name([*of_shared, *_identity(group.own or {})])

    def _name(self, identity: list[tuple[str, object]]) -> str:
        key = tuple(identity)
        if key not in self._known:
            self._known[key] = submitter_name({**dict(identity), "Owner": self._owner}, self._domain)
        return self._known[key]


_IDENTITY = frozenset({"accountinggroup", "niceuser"})


def _identity(ad: Ad) -> list[tuple[str, object]]:
    return [(name, value) for name, value in ad.items() if name.lower() in _IDENTITY]


def change_of(cluster: int, draft: Submission, ranges: list[JobRange]) -> Change:
    """Return the submission of a cluster for the history."""
    submitters = sorted({job.submitter for job in ranges})
    return Change(f"job {cluster}", None, {"Jobs": len(draft), "Submitters": submitters[:100]})
