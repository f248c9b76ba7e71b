"""The jobs that a command applies to: by job, cluster, range, owner or submitter, or by a constraint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from fairq.common.quantities import shown_time
from fairq.common.records import JobRange, JobStatus
from fairq.engine.accounting.identity import answers_to, domain_of
from fairq.errors.people import AmbiguousNameError
from fairq.errors.pool import InvalidJobIdError, NoMatchingJobError, UnknownJobError
from fairq.state import batches, ended_jobs, jobs
from fairq.state.connection import State
from fairq.steps.jobs.constraint import Matcher

_ID = re.compile(r"(\d{1,10})(?:\.(\d{1,10})(?:-(?:(\d{1,10})\.)?(\d{1,10}))?|\.?)(?:@(\S+))?")


class Target(Struct, frozen=True):
    """The jobs named by one word of the command line: procs of a cluster (of one *schedd* or all), or an *owner*'s."""

    text: str
    cluster: int | None = None
    first_proc: int | None = None
    last_proc: int | None = None
    owner: str | None = None
    schedd: str | None = None

    @property
    def is_one_job(self) -> bool:
        """Whether it names a single job."""
        return self.first_proc is not None and self.first_proc == self.last_proc

    def place(self) -> str:
        """Return where its jobs are, as the continuation of "3 jobs"."""
        if self.owner is not None:
            return f" of {self.owner}"
        return f" in cluster {self.text}" if self.first_proc is None else f" in {self.text}"


class Selection(Struct, frozen=True):
    """The jobs a user named; without *targets*, all.

    Of these, only the jobs in one of *statuses* (a key of `STATUSES`), of a *user* (owner or submitter) and of the
    batch *name*, submitted at *since* (seconds since 1970) or later, and with a true *constraint*.
    """

    targets: Sequence[Target] = ()
    constraint: str | None = None
    statuses: Sequence[str] = ()
    user: str | None = None
    since: int | None = None
    name: str | None = None

    @property
    def condition(self) -> str | None:
        """The expression for the batch and the constraint; None without them."""
        if self.name is None:
            return self.constraint
        from fairq.engine.classad.nodes import literal_text

        named = f"JobBatchName =?= {literal_text(self.name)}"
        return named if self.constraint is None else f"({named}) && ({self.constraint})"

    @property
    def is_narrowed(self) -> bool:
        """Whether it selects only some jobs of the targets."""
        return self.constraint is not None or bool(self.filters)

    @property
    def is_by_status(self) -> bool:
        """Whether it selects by nothing but statuses."""
        return not (self.targets or self.condition or self.user or self.since)

    @property
    def filters(self) -> str:
        """The conditions besides the constraint, in words; empty without any."""
        return ", ".join([
            *([" or ".join(self.statuses)] if self.statuses else []),
            *([f"of {self.user}"] if self.user is not None else []),
            *([f"of batch {self.name}"] if self.name is not None else []),
            *([f"submitted since {shown_time(self.since)}"] if self.since is not None else []),
        ])  # fmt: skip

    @property
    def status_numbers(self) -> set[int]:
        """The selected statuses; empty for any."""
        return {int(status) for name in self.statuses for status in STATUSES[name]}

    def narrow(self, ranges: Iterable[JobRange]) -> list[JobRange]:
        """Return those jobs of *ranges* that satisfy everything but the constraint."""
        statuses = self.status_numbers
        return [
            job
            for job in ranges
            if (not statuses or job.status in statuses)
            and (self.user is None or belongs_to(job, self.user))
            and (self.since is None or job.queue_date >= self.since)
        ]


STATUSES = {
    "idle": (JobStatus.IDLE, JobStatus.WAITING),
    "running": (JobStatus.RUNNING,),
    "held": (JobStatus.HELD,),
}
"""The statuses that can be selected, by their name; a job that waits for something is idle."""


def selection_of(
    words: Iterable[str],
    constraint: str | None = None,
    *,
    statuses: Sequence[str] = (),
    user: str | None = None,
    name: str | None = None,
    since: int | None = None,
) -> Selection:
    """Return the selection by jobs and owners (*words*) and further conditions.

    Raises InvalidJobIdError.
    """
    targets = parse_targets(words)
    if user is not None and not targets:
        targets, user = [Target(user, owner=user)], None
    return Selection(targets, constraint, statuses, user, since, name)


def parse_targets(words: Iterable[str]) -> list[Target]:
    """Return the targets of *words*: jobs, clusters or ranges (``7.0``, ``7``, ``7.0-99``), owners or submitters.

    A job, cluster or range may end in ``@schedd``. Raises InvalidJobIdError for any other word.
    """
    return [_target(word) for word in words]


def _target(word: str) -> Target:
    parts = _ID.fullmatch(word)
    if parts is None:
        if not word or word[0].isdigit() or word[0] in "-." or any(letter.isspace() for letter in word):
            raise InvalidJobIdError(value=word)
        return Target(word, owner=word)
    cluster, first, end_cluster, last, schedd = parts.groups()
    if end_cluster is not None and int(end_cluster) != int(cluster):
        raise InvalidJobIdError(value=word)
    if first is None:
        suffix = "" if schedd is None else f"@{schedd}"
        return Target(f"{int(cluster)}{suffix}", int(cluster), schedd=schedd)
    first_proc, last_proc = int(first), int(last if last is not None else first)
    if last_proc < first_proc:
        raise InvalidJobIdError(value=word)
    return Target(word, int(cluster), first_proc, last_proc, schedd=schedd)


def matcher(state: State, selection: Selection) -> Matcher | None:
    """Return the test for the condition of *selection*, None without one; raises ExpressionError."""
    condition = selection.condition
    return None if condition is None else Matcher(state, condition)


def find(
    state: State,
    selection: Selection,
    job_matcher: Matcher | None,
    *,
    missing_is_error: bool = True,
    may_change: Callable[[JobRange], bool] | None = None,
) -> Iterator[tuple[Target, list[JobRange]]]:
    """Yield each target with its jobs, as ranges cut to the target; each range is yielded only once.

    *job_matcher* is that of the selection's constraint, see `matcher`. Without targets, only the jobs that *may_change*
    accepts are tested and yielded.

    Raises:
        UnknownJobError, NoMatchingJobError: a target, or the constraint, has no job (if that is an error).
    """
    targets = selection.targets or [Target("all", owner=None)]
    yielded = _Seen()
    for target in targets:
        ranges = jobs_of(state, target)
        if missing_is_error and selection.targets:
            if not ranges:
                raise missing(state, target)
            _check_one_person(target, ranges)
        elif not selection.targets and may_change is not None:
            ranges = list(filter(may_change, ranges))
        ranges = selection.narrow(ranges)
        if job_matcher is not None:
            ranges = job_matcher.satisfying(ranges)
        yield target, ranges if len(targets) == 1 else yielded.fresh(ranges)


def _check_one_person(target: Target, ranges: Iterable[JobRange]) -> None:
    """Raise AmbiguousNameError if the owner that *target* names exists in more than one domain."""
    if target.owner is not None and "@" not in target.owner:
        people = {job.submitter for job in ranges}
        if len({domain_of(name) for name in people}) > 1:
            raise AmbiguousNameError(name=target.owner, found=", ".join(sorted(people)))


def missing(state: State, target: Target) -> UnknownJobError | NoMatchingJobError:
    """Return the error for *target*, which has no job in the queue; it says where to find an ended job."""
    if target.owner is not None:
        batch = f" (it names a batch: --name {target.owner})" if of_batch(state, target.owner) else ""
        return NoMatchingJobError(condition=f"belongs to {target.owner!r}{batch}")
    job_ids = (target.cluster or 0, target.first_proc, target.last_proc, target.schedd)
    has_ended = ended_jobs.count(state, ended_jobs.Wanted(jobs=(job_ids,)))
    hint = f"it has ended: 'fairq history {target.text}' shows it" if has_ended else "'fairq queue' lists the jobs"
    return UnknownJobError(job=target.text, hint=hint)


def of_batch(state: State, name: str) -> Target | None:
    """Return the first cluster with idle jobs of the batch *name*, else its first cluster.

    None if there is no such batch, or if a submitter of this name has jobs.
    """
    if jobs_of(state, Target(name, owner=name)):
        return None
    found = batches.in_queue(state, name)

    def has_idle(of_batch: tuple[str, int]) -> bool:
        schedd, cluster = of_batch
        return bool(jobs.select(state, cluster=cluster, schedd=schedd, statuses=[JobStatus.IDLE]))

    schedd, cluster = next(filter(has_idle, found), found[0] if found else ("", None))
    return None if cluster is None else Target(str(cluster), cluster, schedd=schedd or None)


def absence(state: State, target: Target) -> str:
    """Return the note that the queue has no job of *target*; it suggests the same user in a group or another domain."""
    if target.owner is None:
        return str(missing(state, target))
    user = target.owner.partition("@")[0]
    similar = sorted({name for name, _ in jobs.owners(state) if answers_to(name, user)})
    return f"no job in the queue belongs to {target.owner!r}" + (
        f"; did you mean {' or '.join(similar[:3])}?" if similar else ""
    )


def belongs_to(job: JobRange, word: str) -> bool:
    """Return whether *job* belongs to the owner or submitter *word*, compared as by `answers_to`."""
    return job.owner == word or answers_to(job.submitter, word)


def jobs_of(state: State, target: Target) -> list[JobRange]:
    """Return the jobs of *target* as ranges cut to it; without a schedd, those of all schedds."""
    ranges = _of_all_schedds(state, target)
    return ranges if target.schedd is None else [job for job in ranges if _is_at(job.schedd, target.schedd)]


def _is_at(schedd: str, name: str) -> bool:
    """Return whether *schedd* has this *name*, in full or up to the @; the queue of a single schedd has no name."""
    return not schedd or name.lower() in (schedd.lower(), schedd.lower().partition("@")[0])


def _of_all_schedds(state: State, target: Target) -> list[JobRange]:
    if target.owner is not None:
        if "@" in target.owner:
            return jobs.select(state, submitter=target.owner)
        word = target.owner
        names = {name for name, owner in jobs.owners(state) if owner == word or answers_to(name, word)}
        ranges = [job for name in sorted(names) for job in jobs.select(state, submitter=name) if belongs_to(job, word)]
        return sorted(ranges, key=lambda job: (job.cluster, job.schedd, job.first_proc))
    if target.cluster is None:
        return jobs.select(state)
    if target.is_one_job:
        return jobs.select(state, cluster=target.cluster, proc=target.first_proc)
    ranges = jobs.select(state, cluster=target.cluster)
    if target.first_proc is None or target.last_proc is None:
        return ranges
    first, last = target.first_proc, target.last_proc
    return [part for job in ranges if (part := job.part(first, last))]


class _Seen:
    """The procs yielded so far, by cluster, as bounds that neither overlap nor touch."""

    def __init__(self) -> None:
        self._bounds: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def fresh(self, ranges: Iterable[JobRange]) -> list[JobRange]:
        """Return the parts of *ranges* that are new, and remember them; *ranges* itself has no duplicates."""
        result: list[JobRange] = []
        for (schedd, cluster), group in groupby(ranges, key=lambda job: (job.schedd, job.cluster)):
            bounds = self._bounds.get((schedd, cluster), [])
            parts = [part for job in group for part in job.without(bounds)]
            result += parts
            self._bounds[schedd, cluster] = _merged([*bounds, *((job.first_proc, job.last_proc) for job in parts)])
        return result


def without(job: JobRange, others: Iterable[JobRange]) -> Iterator[JobRange]:
    """Yield the parts of *job* that are in none of *others*."""
    bounds = [
        (other.first_proc, other.last_proc)
        for other in others
        if (other.schedd, other.cluster) == (job.schedd, job.cluster)
    ]
    yield from job.without(_merged(bounds))


def _merged(bounds: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(bounds):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
