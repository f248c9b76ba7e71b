"""The conditions of new jobs: the other jobs that they name, if the submitter may see these."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.common.cron import FIELDS, next_time
from fairq.common.past import EndedJob
from fairq.common.records import Actor, Ad, JobRange, JobStatus
from fairq.common.waits import AFTER, AFTER_FAILED, AFTER_OK, WHOLE, JobAfter, JobCap, JobWait
from fairq.errors.pool import JobAttributeError, NoMatchingJobError, UnknownJobError
from fairq.state import batches, ended_jobs, job_ads, jobs, launches, waits
from fairq.state.connection import State
from fairq.steps.launch.values import UnusableValueError, is_given, read, read_if_usable

if TYPE_CHECKING:
    from fairq.settings import Settings

_AFTERS = {"After": AFTER, "AfterOk": AFTER_OK, "AfterFailed": AFTER_FAILED}
_CAPS = ("MaxRunning", "JobMaterializeMaxIdle", "JobMaterializeLimit")
"""The attributes with the caps of a cluster, in the order of `JobCap`."""

CONDITIONS = frozenset(name.lower() for name in (*_AFTERS, "BeginTime", "DeferralTime", *FIELDS, *_CAPS))
"""The attributes, in lower case, without which a job waits for nothing but a slot."""

_SCHEDULE = frozenset(map(str.lower, FIELDS))
ATTRIBUTE_OF = {how: name for name, how in _AFTERS.items()}
KEPT_AGAIN = frozenset(map(str.lower, _CAPS))
"""The conditions that a job keeps when it runs again."""

_TIMES = CONDITIONS - KEPT_AGAIN - frozenset(map(str.lower, _AFTERS))

_DEFERRAL, _WINDOW, _PREPARATION = "DeferralTime", "DeferralWindow", "DeferralPrepTime"
_USUAL_PREPARATION = 300
"""Seconds before its time at which a job may be matched; HTCondor's default."""

_ID = re.compile(r"(\d{1,9})(?:\.(\d{1,9})(?:-(\d{1,9}))?)?")


def wait_of(
    others: Others, ranges: Sequence[JobRange], ads: Mapping[int, Ad], category: tuple[str, int] | None = None
) -> Waits:
    """Return the conditions of the new jobs of one cluster; *ads* are their shared ads by number.

    Raises UnknownJobError, NoMatchingJobError: there are no such jobs, or none that the actor may see;
    JobAttributeError: the value of an attribute cannot be used.
    """
    conditions = Waits(others, category)
    try:
        for job in ranges:
            conditions.add_range(job, ads[job.ad_id])
    except UnusableValueError as error:
        raise JobAttributeError(attribute=error.attribute, problem=error.problem) from None
    return conditions


def store(state: State, conditions: Collection[Waits]) -> None:
    """Store the conditions of the jobs of several clusters."""
    waits.add(
        state,
        [wait for of_cluster in conditions for wait in of_cluster.waits],
        [after for of_cluster in conditions for after in of_cluster.afters],
        [cap for of_cluster in conditions if (cap := of_cluster.cap) is not None],
    )


def is_cron(ad: Ad) -> bool:
    """Return whether a job starts at times of cron."""
    return not _SCHEDULE.isdisjoint(map(str.lower, ad)) and any(is_given(ad, name) for name in FIELDS)


def times_of(ad: Ad, now: int) -> tuple[int | None, int | None]:
    """Return the time before which a job is not matched (None if past), and the time by which it must start."""
    begin, start = read(ad, "BeginTime", now), read(ad, _DEFERRAL, now)
    if is_cron(ad):
        start = next_time({name: text for name in FIELDS if (text := read(ad, name, now)) is not None}, now)
    deadline = None
    if start is not None:
        preparation = read(ad, _PREPARATION, now)
        ready = start - (_USUAL_PREPARATION if preparation is None else preparation)
        begin, deadline = max(ready, begin or 0), int(start + deferral_window(ad, now))
    return None if begin is None or begin <= now else int(begin), deadline


def deferral_window(ad: Ad, now: int) -> int:
    """Return the number of seconds after its set time within which a job may start."""
    return int(read(ad, _WINDOW, now) or 0)


class Waits:
    """The conditions for which jobs of one cluster wait."""

    def __init__(self, others: Others, category: tuple[str, int] | None) -> None:
        self._others = others
        self._now = others.now
        self.waits: list[JobWait] = []
        self.afters: list[JobAfter] = []
        self._caps: list[int | None] = [None] * len(_CAPS)
        self._category = category
        self._cluster = 0
        self._last: tuple[Sequence[JobAfter], int | None, int | None] = ((), None, None)

    def __bool__(self) -> bool:
        return bool(self.waits) or self.cap is not None

    @property
    def cap(self) -> JobCap | None:
        """The caps of the cluster; None if it has none."""
        if not any(self._caps) and self._category is None:
            return None
        running, idle, queued = self._caps
        return JobCap(self._cluster, running, idle, queued, *(self._category or ()))

    def all_wait(self, count: int) -> bool:
        """Return whether all *count* jobs of the cluster wait for others that may still let them start."""
        waiting = sum(len(wait) for wait in self.waits if wait.open)
        return waiting == count and all(after.is_met is not False for after in self.afters)

    def add_range(self, job: JobRange, shared: Ad) -> None:
        """Add jobs with this *shared* ad; raises UnusableValueError."""
        differs = job.template and any(is_given(job.template, name) for name in _AFTERS)
        if not differs and not is_cron(job.ad_of(shared, job.first_proc)):
            self._add(job.ad_of(shared, job.first_proc), job)
            return
        for single in job.each():
            self._add(job.ad_of(shared, single.first_proc), single)

    def _add(self, ad: Ad, job: JobRange) -> None:
        self._cluster = job.cluster
        conditions = CONDITIONS.intersection(map(str.lower, ad))

        def value(name: str) -> Any:
            return read(ad, name, self._now) if name.lower() in conditions else None

        references = [
            (how, word.strip())
            for name, how in _AFTERS.items()
            for word in (value(name) or "").split(",")
            if word.strip()
        ]
        afters = [after for how, word in references for after in self._others.conditions(how, word)]
        self._caps = [_least(maximum, value(name)) for maximum, name in zip(self._caps, _CAPS, strict=True)]
        begin, deadline = (None, None) if conditions.isdisjoint(_TIMES) else times_of(ad, self._now)
        if not afters and begin is None and deadline is None:
            return
        former, self._last = self._last, (afters, begin, deadline)
        if former == self._last and self.waits and self.waits[-1].last_proc == job.first_proc - 1:
            self.waits[-1].last_proc = job.last_proc
            return
        open_count = sum(not after.is_met for after in afters)
        self.waits.append(JobWait(job.cluster, job.first_proc, job.last_proc, open_count, begin, deadline))
        self.afters += [replace(after, cluster=job.cluster, first_proc=job.first_proc) for after in afters]


def _least(first: int | None, second: int | None) -> int | None:
    """Return the smaller value; None only if both are."""
    return min((value for value in (first, second) if value is not None), default=None)


class Others:
    """Finds the jobs that conditions name, each only once. *queued* are new jobs by cluster."""

    def __init__(self, state: State, settings: Settings, actor: Actor) -> None:
        """Store the arguments: conditions may only name jobs that the *actor* may see."""
        self.queued: dict[int, list[JobRange]] = {}
        self.now = actor.time
        self._state = state
        self._actor = actor
        self._is_private = settings["pool.private_jobs"] and not actor.administrator
        self._known: dict[tuple[str, str], list[JobAfter]] = {}

    def conditions(self, how: str, word: str) -> list[JobAfter]:
        """Return the conditions of the kind *how* for the jobs named by *word*, with the number of unfinished jobs."""
        if (how, word) not in self._known:
            self._known[how, word] = list(self._found(how, word))
        return self._known[how, word]

    def _found(self, how: str, word: str) -> Iterator[JobAfter]:
        id_ = _ID.fullmatch(word)
        if id_ is None:
            clusters = batches.of_owner(self._state, self._actor.user, word)
            if not clusters:
                raise NoMatchingJobError(condition=f"of yours has the name {word!r}")
            for cluster in clusters:
                yield self._condition(how, str(cluster), cluster, 0, WHOLE)
            return
        number, first, last = id_.groups()
        procs = (0, WHOLE) if first is None else (int(first), int(last or first))
        yield self._condition(how, word, int(number), *procs)

    def _condition(self, how: str, word: str, cluster: int, first: int, last: int) -> JobAfter:
        unfinished = failed = count_known = 0
        is_new = cluster in self.queued
        for job in self.queued[cluster] if is_new else jobs.select(self._state, cluster=cluster, schedd=""):
            part = job.part(first, last)
            if part is None or self._is_hidden(job.owner):
                continue
            count_known += len(part)
            if job.status != JobStatus.COMPLETED:
                unfinished += len(part)
            else:
                failed += sum(map(self._failed_in_queue, part.each()))
        for count, did_fail in () if is_new else self._ended(cluster, first, last):
            count_known += count
            failed += count if did_fail else 0
        if not count_known or (last != WHOLE and count_known < last - first + 1):
            raise UnknownJobError(job=word, hint="'fairq queue' and 'fairq history' list the jobs")
        return JobAfter(0, 0, how, cluster, first, last, unfinished, failed)

    def _is_hidden(self, owner: str) -> bool:
        return self._is_private and owner != self._actor.user

    def _failed_in_queue(self, job: JobRange) -> bool:
        """Return whether a completed job failed that stays in the queue."""
        facts = [launch.ended or {} for launch in launches.of_job(self._state, job.cluster, job.first_proc)]
        last = facts[-1] if facts else {}
        return not is_success(jobs.whole_ad(self._state, job), last.get("exit_code"), last.get("signal"), self.now)

    def _ended(self, cluster: int, first: int, last: int) -> Iterator[tuple[int, bool]]:
        """Yield the numbers of jobs that have left the queue, and whether they failed."""
        query = ended_jobs.Wanted(jobs=((cluster, first, last, ""),))
        for page in ended_jobs.pages(self._state, query):
            ads = job_ads.ads(self._state, {ended_job.ad_id for ended_job in page})
            for ended_job in page:
                part = ended_job.part(first, last)
                if part is not None and not self._is_hidden(ended_job.owner):
                    yield len(part), has_failed(ended_job, ads[ended_job.ad_id], self.now)


def has_failed(ended: EndedJob, shared: Ad, now: int) -> bool:
    """Return whether jobs that have left the queue failed: removed, ended by a signal, or by another exit code."""
    if ended.status != JobStatus.COMPLETED:
        return True
    return not is_success({**shared, **(ended.own or {})}, ended.exit_code, ended.signal, now)


def is_success(ad: Ad, code: int | None, signal: int | None, now: int) -> bool:
    """Return whether an exit of the job with this *ad* is a success; an unknown code counts as one."""
    return signal is None and code in (None, read_if_usable(ad, "JobSuccessExitCode", now) or 0)
