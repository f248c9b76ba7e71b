"""Run ended jobs again as new clusters; jobs that waited for the old jobs wait for the new ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from fairq.common.expression_form import without_attributes
from fairq.common.past import EndedJob
from fairq.common.procs import job_name
from fairq.common.records import Actor, Ad, JobStatus
from fairq.common.waits import AFTER_FAILED, UNMET, JobAfter, JobWait, parts
from fairq.errors.pool import NotEndedError
from fairq.formats.submitfile import JobGroup, Submission
from fairq.state import ended_jobs, history, job_ads, jobs, undo, waits
from fairq.state.connection import State, opened_for
from fairq.steps.evaluation.budget import evaluated, is_true, listing_budget
from fairq.steps.jobs.conditions import ATTRIBUTE_OF, CONDITIONS, KEPT_AGAIN, has_failed
from fairq.steps.jobs.past import wanted_jobs
from fairq.steps.jobs.selection import Selection, jobs_of
from fairq.steps.jobs.submit import change_of, put
from fairq.steps.jobs.waits import settle
from fairq.steps.launch import events
from fairq.steps.rights import check_owner

if TYPE_CHECKING:
    from fairq.settings import Settings

RERUN_OF = "RerunOf"
"""The attribute with the cluster that a job runs again; its number there is the same."""


class Rerun(Struct):
    """The jobs *ended* that run again, by cluster, with their shared *ads* by number; *clusters* has the new ones.

    *outputs* are the files of the old jobs that they overwrite.
    """

    ended: dict[int, list[EndedJob]]
    ads: dict[int, Ad]
    clusters: dict[int, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.jobs()))

    def jobs(self) -> list[EndedJob]:
        """Return the old jobs, by cluster and number."""
        return [job for of_cluster in self.ended.values() for job in of_cluster]

    def outputs(self) -> Iterator[Path]:
        """Yield the files of output of the jobs."""
        for job in self.jobs():
            for proc in job.numbers:
                ad = job.ad_of(self.ads[job.ad_id], proc)
                for name in ("Out", "Err"):
                    if isinstance(file := ad.get(name), str) and file:
                        yield Path(str(ad.get("Iwd", "/"))) / file


def rerun(
    path: Path,
    settings: Settings,
    selection: Selection,
    actor: Actor,
    *,
    failed: bool = False,
    host: str,
    dry_run: bool = False,
) -> Rerun:
    """Queue the ended jobs of *selection* again, or only those that *failed*: a new cluster for each old one.

    The jobs keep their numbers, owners and attributes, except for their conditions: they wait only for jobs that the
    same command runs again. Jobs that wait for the old ones, or are held because these failed, wait for the new ones.
    Jobs that run again already are left out, unless single jobs are named.

    Raises:
        NotEndedError: no such job has ended.
        NotAllowedError: a job belongs to another user.
        TooManyJobsError: see `fairq.steps.jobs.submit.submit`.
    """
    with opened_for(path, dry_run=dry_run, create=False) as state:
        reruns = _find_ended(state, selection, actor, failed=failed)
        check_owner(actor, reruns.jobs(), "rerun")
        if not dry_run:
            _queue(state, settings, reruns, actor, host)
    if not dry_run and actor.request is None:
        reruns.warnings += events.flush(path, settings)
    return reruns


def _find_ended(state: State, selection: Selection, actor: Actor, *, failed: bool) -> Rerun:
    query = wanted_jobs(ended_jobs.Wanted(), selection.targets)
    if not selection.targets and not actor.administrator:
        query = replace(query, owner=actor.user)
    is_exact = any(target.first_proc is not None for target in selection.targets)
    running_again = {} if is_exact else _running_again(state)
    ended: dict[int, list[EndedJob]] = defaultdict(list)
    ads: dict[int, Ad] = {}
    for job in chain.from_iterable(ended_jobs.pages(state, query)):
        if job.schedd or (selection.since is not None and job.queue_date < selection.since):
            continue
        if selection.user is not None and not _belongs_to(job, selection.user):
            continue
        if job.ad_id not in ads:
            ads |= job_ads.ads(state, [job.ad_id])
        if failed and (job.status != JobStatus.COMPLETED or not has_failed(job, ads[job.ad_id], actor.time)):
            continue
        ended[job.cluster] += (
            part
            for part in _cut(job, selection)
            if not any(part.part(first, last) for first, last in running_again.get((job.cluster, job.owner), ()))
        )
    by_cluster = {cluster: _join(ended[cluster]) for cluster in sorted(ended) if ended[cluster]}
    reruns = Rerun(by_cluster, ads)
    if (condition := selection.condition) is not None:
        reruns.ended = _satisfying(reruns, condition)
    if not reruns.ended:
        raise _missing(state, selection, failed=failed)
    return reruns


def _belongs_to(job: EndedJob, user: str) -> bool:
    from fairq.engine.accounting.identity import answers_to

    return job.owner == user or answers_to(job.submitter, user)


def _cut(job: EndedJob, selection: Selection) -> Iterator[EndedJob]:
    """Yield the parts of *job* that the targets name."""
    single_targets = [
        target for target in selection.targets if target.cluster == job.cluster and target.first_proc is not None
    ]
    wide_targets = [
        target
        for target in selection.targets
        if target.owner is not None or (target.cluster == job.cluster and target not in single_targets)
    ]
    if wide_targets or not single_targets:
        yield job
        return
    done: set[int] = set()
    for target in single_targets:
        named = job.part(target.first_proc or 0, target.last_proc or 0)
        fresh = [single for single in (() if named is None else named.each()) if single.first_proc not in done]
        done.update(single.first_proc for single in fresh)
        yield from fresh


def _join(ended: Sequence[EndedJob]) -> list[EndedJob]:
    """Return the jobs with consecutive ranges of alike jobs joined."""
    joined: list[EndedJob] = []
    for job in sorted(ended, key=lambda part: part.first_proc):
        last = joined[-1] if joined else None
        if last is not None and job.first_proc == last.last_proc + 1 and _kind(job) == _kind(last):
            joined[-1] = replace(last, last_proc=job.last_proc)
        else:
            joined.append(job)
    return joined


def _kind(job: EndedJob) -> tuple[Any, ...]:
    return job.ad_id, job.own, job.template, job.priority, job.owner, job.exit_code, job.signal, job.status


def _satisfying(reruns: Rerun, condition: str) -> dict[int, list[EndedJob]]:
    """Return the jobs for which *condition* is true, as for ``fairq history --constraint``."""
    from fairq.engine.classad import parse

    single_jobs = [single for job in reruns.jobs() for single in job.each()]
    ads = (job.ad_of(reruns.ads[job.ad_id], job.first_proc) for job in single_jobs)
    chosen: dict[int, list[EndedJob]] = defaultdict(list)
    for job, value in zip(single_jobs, evaluated(parse(condition), ads, listing_budget()), strict=True):
        if is_true(value):
            chosen[job.cluster].append(job)
    return {cluster: _join(chosen_jobs) for cluster, chosen_jobs in chosen.items()}


def _running_again(state: State) -> dict[tuple[int, str], list[tuple[int, int]]]:
    """Return the numbers of the jobs, by cluster and owner, that wait or run again, or have run again."""
    again: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for old_cluster, owner, first, last in ended_jobs.reruns(state):
        again[old_cluster, owner].append((first, last))
    return again


def _missing(state: State, selection: Selection, *, failed: bool) -> NotEndedError:
    queued = [target.text for target in selection.targets if jobs_of(state, target)]
    participle = "failed" if failed else "ended"
    if queued:
        hint = f"'fairq queue {' '.join(queued)}' shows what is in the queue"
        return NotEndedError(what=participle, hint=hint)
    return NotEndedError(
        what=participle, hint="'fairq history' lists the jobs that have ended; those that run again are left out"
    )


def _queue(state: State, settings: Settings, reruns: Rerun, actor: Actor, host: str) -> None:
    start = jobs.next_cluster(state, len(reruns.ended))
    conditions = _conditions(state, reruns)
    reruns.clusters = {old: start + index for index, old in enumerate(conditions)}
    changes, followers, counts = [], [], []
    for old, new in reruns.clusters.items():
        ended, submission = reruns.ended[old], _submission(reruns, old, conditions[old])
        ranges = put(state, settings, {new: submission}, ended[0].owner, actor, host)[new]
        change = change_of(new, submission, ranges)
        changes.append(replace(change, after={**(change.after or {}), RERUN_OF: old}))
        followers += follow(state, ended, new, {job.ad_id: reruns.ads[job.ad_id] for job in ended}, actor.time)
        counts.append([new, len(submission)])
        reruns.warnings += [text for text in submission.warnings if text not in reruns.warnings]
    entries = history.record(state, actor, changes, own=True)
    data = {"clusters": counts, "followers": followers}
    undo.record(state, actor, entries, "rerun", data, settings["pool.undo_kept"])


def _conditions(state: State, reruns: Rerun) -> dict[int, list[tuple[JobWait, list[JobAfter]]]]:
    """Return each cluster's conditions on clusters that run again as well; clusters follow those they wait for."""
    waited = {
        cluster: [
            (wait, [after for after in waits.conditions(state, wait) if after.other_cluster in reruns.ended])
            for wait in waits.of_cluster(state, cluster)
        ]
        for cluster in reruns.ended
    }
    before = {cluster: {after.other_cluster for _, afters in waited[cluster] for after in afters} for cluster in waited}
    return {cluster: waited[cluster] for cluster in TopologicalSorter(before).static_order()}


def _submission(reruns: Rerun, old: int, former_waits: Sequence[tuple[JobWait, list[JobAfter]]]) -> Submission:
    shared: dict[int, Ad] = {}
    groups = []
    conditions_of = {wait.first_proc: _waited_for(reruns, afters) for wait, afters in former_waits}
    for ended in reruns.ended[old]:
        for wait, job in parts(ended, [wait for wait, _ in former_waits]):
            conditions = {} if wait is None else conditions_of[wait.first_proc]
            if job.ad_id not in shared:
                shared[job.ad_id] = {**_without_conditions(reruns.ads[job.ad_id]), RERUN_OF: old}
            own, template = (
                {**_without_conditions(job.own or {}), **conditions},
                _without_conditions(job.template or {}),
            )
            group = JobGroup(
                job.first_proc, job.last_proc, shared[job.ad_id], own or None, template or None, job.priority
            )
            groups.append(group)
    return Submission(groups)


def _waited_for(reruns: Rerun, afters: Sequence[JobAfter]) -> Ad:
    """Return the attributes that make jobs wait for the new jobs of these conditions."""
    words: dict[str, list[str]] = defaultdict(list)
    for after in afters:
        words[ATTRIBUTE_OF[after.how]] += _new_names(reruns, after)
    return {name: ",".join(listed) for name, listed in words.items() if listed}


def _without_conditions(ad: Ad) -> Ad:
    """Return *ad* without the job's conditions; caps stay."""
    return without_attributes(ad, CONDITIONS - KEPT_AGAIN)


def _new_names(reruns: Rerun, after: JobAfter) -> Iterator[str]:
    """Yield the names of the new jobs for the old ones of a condition."""
    new = reruns.clusters[after.other_cluster]
    for job in reruns.ended[after.other_cluster]:
        if part := job.part(after.other_first, after.other_last):
            yield job_name(new, part.first_proc, part.last_proc)


def follow(state: State, ended: Sequence[EndedJob], new: int, ads: Mapping[int, Ad], now: int) -> list[dict[str, Any]]:
    """Make the jobs that wait for *ended* jobs wait for the cluster *new*; return the data that `unfollow` needs.

    Jobs that are held because *ended* jobs failed wait again. A condition on other jobs as well is split. A condition
    that other jobs failed stays.
    """
    done: list[dict[str, Any]] = []
    old = ended[0].cluster
    conditions = dict(
        condition for job in ended for condition in waits.of_others(state, old, job.first_proc, job.last_proc)
    )
    for number, after in conditions.items():
        wait = waits.at(state, after.cluster, after.first_proc)
        held = [
            job
            for job in jobs.select(state, cluster=wait.cluster, schedd="", statuses=[JobStatus.HELD])
            if job.hold_code == UNMET and wait.part(job.first_proc, job.last_proc)
        ]
        waiting = jobs.select(state, cluster=wait.cluster, schedd="", statuses=[JobStatus.WAITING])
        if wait.waived or not (held or waiting):
            continue
        parts = [part for job in ended if (part := job.part(after.other_first, after.other_last))]
        count = sum(map(len, parts))
        failed = sum(len(part) for part in parts if has_failed(part, ads[part.ad_id], now))
        all_ended = ended_jobs.count(state, ended_jobs.Wanted(jobs=((old, after.other_first, after.other_last, ""),)))
        if not after.left and count >= min(all_ended, after.other_last - after.other_first + 1):
            moved = replace(after, other_cluster=new, left=count, failed=0)
            done.append({"id": number, "former": astuple(after), "added": [], "failed": 0})
            waits.replace(state, number, moved)
        elif after.how == AFTER_FAILED:
            continue
        else:
            added = [
                JobAfter(after.cluster, after.first_proc, after.how, new, part.first_proc, part.last_proc, len(part))
                for part in parts
            ]
            waits.replace(state, number, replace(after, failed=after.failed - failed))
            done.append({"id": number, "former": None, "added": waits.add_afters(state, added), "failed": failed})
        waits.recount(state, after.cluster, after.first_proc)
        for job in held:
            jobs.set_status(state, [job.procs], JobStatus.WAITING, now)
        settle(state, [after.cluster], now)
    return done


def unfollow(state: State, followers: Sequence[Mapping[str, Any]], now: int) -> None:
    """Undo `follow`."""
    for follower in reversed(followers):
        after = waits.after(state, follower["id"])
        if after is None:
            continue
        former = (
            replace(after, failed=after.failed + follower["failed"])
            if follower["former"] is None
            else JobAfter(*follower["former"])
        )
        waits.replace(state, follower["id"], former)
        waits.forget_afters(state, follower["added"])
        waits.recount(state, after.cluster, after.first_proc)
        settle(state, [after.cluster], now)
